/** Section 2, "The clock": whether the clock is uncertain. All values are in seconds. */
export interface ClockReading {
  readonly now: number
  readonly last_good_sync: number
  readonly wall: number
  /** Time since the machine started, sleep included. */
  readonly boot: number
  readonly measured_wall: number
  readonly measured_boot: number
}

export const isClockUncertain = (of: ClockReading): boolean =>
  of.now < of.last_good_sync - 60 ||
  Math.abs(of.wall - of.boot - (of.measured_wall - of.measured_boot)) > 30
