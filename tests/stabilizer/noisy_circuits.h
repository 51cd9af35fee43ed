// Small circuits that between them have every channel, for comparisons with full enumeration.
#pragma once

namespace tilewave::stabilizer {

inline const char* const kNoisyCircuits[] = {
    // every channel of one qubit, before measurements in three bases
    "RX 1\nRY 2\nX_ERROR(0.1) 0 1\nY_ERROR(0.2) 1 2\nZ_ERROR(0.3) 0 1 2\nM 0\nMX 1\nMY 2",
    "H 0\nDEPOLARIZE1(0.3) 0\nPAULI_CHANNEL_1(0.1, 0.2, 0.3) 1 0\nMX(0.1) 0\nM !1\nMX 1\nMX 1",
    "H 0\nCX 0 1\nDEPOLARIZE2(0.4) 0 1\nMXX 0 1\nMZZ(0.2) 0 !1\nM 0 1",
    "RX 0\nRY 1\nPAULI_CHANNEL_2(.01,.02,.03,.04,.05,.06,.07,.01,.02,.03,.04,.05,.06,.07,.08) 0 1\n"
    "MX 0\nMY 1\nM 0 1",
    // chains, also with other operations between their links
    "E(0.3) X0 Z1\nELSE_CORRELATED_ERROR(0.5) Y1 X2\nELSE_CORRELATED_ERROR(0.25) X0\nM 0 1 2\n"
    "E(0.1) X0\nM 0",
    "E(0.4) X0\nH 1\nM 1\nELSE_CORRELATED_ERROR(0.5) X2\nM 0 2",
    "REPEAT 2 {\nE(0.4) X0\nELSE_CORRELATED_ERROR(0.5) X1\nMR 0\n}\nM 1",
    // heralds inside a loop, looked back at through feedback
    "REPEAT 2 {\nHERALDED_ERASE(0.3) 0 1\nCX rec[-1] 2 rec[-2] 0\nM 0\n}\nM 1 2",
    "RX 0\nHERALDED_PAULI_CHANNEL_1(0.1, 0.2, 0.05, 0.15) 0 1\nCZ rec[-2] 0\nMX 0\nM 1",
    // collapses: repeated targets, records that are flipped, resets in every basis
    "H 0\nMR(0.25) 0 0 !0\nH 0\nM 0\nM 0",
    "RX 0\nX_ERROR(0.5) 0\nMRY 0\nMRX(0.1) 0 0\nMY 0\nR 0\nM 0",
    "H 0\nM 0\nH 0\nM 0\nH 0\nM 0",
    "MX 0 0\nM 0 0\nMX 0\nMY 0 0",
    // products: repeated qubits, signs, roots
    "H 0\nDEPOLARIZE1(0.2) 0 1\nMPP(0.1) X0*X1*!Z2 Z0*Z1 X0*X0*Z1\nM 0 1 2",
    "MPP X0*Y0*Z0*X1*Y1*Z1 !Y0*Y1\nM 0",
    "H 0 1\nSPP X0*Z1 !Y0*Y1\nSPP_DAG Z0*Z1*X2\nZ_ERROR(0.2) 0\nM 0 1 2",
    // gates of every class under noise
    "H 0 1 2\nSQRT_XX 0 1\nISWAP 1 2\nX_ERROR(0.2) 0\nC_XYZ 0\nCXSWAP 0 2\nY_ERROR(0.1) 1\n"
    "SQRT_YY_DAG 1 2\nCZSWAP 0 1\nH_YZ 2\nC_NZYX 1\nXCY 0 2\nM 0 1 2",
    "MPAD(0.25) 0 1\nX 0\nM 0\nCY rec[-1] 1\nCX rec[-3] 1\nM 1\nMX 1",
    "REPEAT 3 {\nH 0\nS 0\nCX 0 1\nDEPOLARIZE1(0.1) 1\nSWAP 0 1\nM(0.05) 0\n}",
    // single places of noise, which the frame engine gathers in lists of sites
    "H 0\nX_ERROR(0.01) 0\nCX 0 1\nDEPOLARIZE2(0.015) 0 1\nR 2\nY_ERROR(0.002) 2\nZ_ERROR(0.013) "
    "0\n"
    "PAULI_CHANNEL_1(0.001, 0.008, 0.004) 1\nM(0.012) 2\nDEPOLARIZE1(0.014) 2\nCX 1 2\nM(0.003) 2\n"
    "CX rec[-2] 0\nH 0\nM(0.01) 0 !1 2",
    "PAULI_CHANNEL_2(.001,.002,.0005,.001,.0003,.001,.0001,.001,.002,.0004,.001,.0007,.001,.001,."
    "002) 0 1\n"
    "E(0.004) X0 Z1 Y2\nELSE_CORRELATED_ERROR(0.003) Y0 X1\nELSE_CORRELATED_ERROR(0.005) X2\n"
    "C_XYZ 1\nE(0.006) Z1\nH 2\nE(0.002) Z2*X0\nM 0 1 2",
    "HERALDED_ERASE(0.01) 0\nM(0.01) 0\nHERALDED_PAULI_CHANNEL_1(0.001, 0.006, 0.002, 0.003) 1\nMR "
    "0\n"
    "HERALDED_ERASE(0.014) 1\nCX rec[-1] 0\nM 0 1",
    "REPEAT 3 {\nMR(0.01) 0\nX_ERROR(0.011) 0\nCX 0 1\nHERALDED_ERASE(0.008) 1\nX_ERROR(0.002) 1\n"
    "CX rec[-2] 1\n}\nM 1",
    // a chain that goes on behind a gate
    "E(0.01) X0\nH 1\nELSE_CORRELATED_ERROR(0.9) X1\nH 1\nELSE_CORRELATED_ERROR(0.5) X0\nM 0 1",
};

}  // namespace tilewave::stabilizer
