"""Circuits in Stim's language that several tests share."""
import stim


def surface_code(distance=3, p=0.003, rounds=3, task="surface_code:rotated_memory_x"):
    return stim.Circuit.generated(task, distance=distance, rounds=rounds, after_clifford_depolarization=p,
                                  before_measure_flip_probability=p, after_reset_flip_probability=p,
                                  before_round_data_depolarization=p)
