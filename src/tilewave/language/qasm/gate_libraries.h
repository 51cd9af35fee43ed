// Gates that other programs' files call by names of their own, as OpenQASM that both readers take.
#pragma once

#include <string_view>

namespace tilewave::language {

/// What Quantinuum's hqslib1.inc adds to qelib1.inc: its machines' gates. Angles in radians.
inline constexpr std::string_view kHqslib1Gates = R"(
gate Rz(a) q { rz(a) q; }
gate U1q(a, b) q { r(a, b) q; }
gate ZZ q, r { rzz(pi/2) q, r; }
gate RZZ(a) q, r { rzz(a) q, r; }
gate Rxxyyzz(a, b, c) q, r { rxx(a) q, r; ryy(b) q, r; rzz(c) q, r; }
)";

/// Gates of Amazon Braket's dialect of OpenQASM 3, known there without an include.
inline constexpr std::string_view kBraketGates = R"(
gate i q { id q; }
gate cnot q, r { cx q, r; }
gate ccnot q, r, t { ccx q, r, t; }
gate si q { sdg q; }
gate ti q { tdg q; }
gate v q { sx q; }
gate vi q { sxdg q; }
gate cv q, r { csx q, r; }
gate phaseshift(a) q { p(a) q; }
gate cphaseshift(a) q, r { cp(a) q, r; }
gate cphaseshift00(a) q, r { negctrl(2) @ gphase(a) q, r; }
gate cphaseshift01(a) q, r { negctrl @ ctrl @ gphase(a) q, r; }
gate cphaseshift10(a) q, r { ctrl @ negctrl @ gphase(a) q, r; }
gate pswap(a) q, r { swap q, r; p(a) q; p(a) r; cp(-2 * a) q, r; }
gate xy(a) q, r { xx_plus_yy(-a, 0) q, r; }
gate xx(a) q, r { rxx(a) q, r; }
gate yy(a) q, r { ryy(a) q, r; }
gate zz(a) q, r { rzz(a) q, r; }
gate prx(a, b) q { r(a, b) q; }
gate gpi(a) q { x q; rz(2 * a) q; }
gate gpi2(a) q { r(pi/2, a) q; }
gate ms(a, b, c) q, r { rz(-a) q; rz(-b) r; rxx(c) q, r; rz(a) q; rz(b) r; }
)";

}  // namespace tilewave::language
