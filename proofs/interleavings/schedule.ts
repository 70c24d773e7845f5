import fc from 'fast-check'
import { createRandom } from '../random.ts'

/**
 * The order of everything that happens between simulated processes, clients, timers and the database: fast-check's scheduler, whose choices
 * are the picks of a plan. A pick is taken modulo the number of waiting tasks, so that a shorter list of picks is a schedule as well.
 */
export class Schedule {
  private readonly scheduler: fc.Scheduler

  constructor(picks: readonly number[]) {
    this.scheduler = fc.scheduler().generate(new Picks(picks) as unknown as fc.Random, undefined).value
  }

  /** Resolves when the schedule has picked this task. */
  point(label: string): Promise<void> {
    return this.scheduler.schedule(done, label)
  }

  /** Executes one of the waiting tasks. */
  async next(): Promise<void> {
    await this.scheduler.waitOne()
  }

  /** The labels of the executed tasks, in order. */
  labels(): string[] {
    return this.scheduler.report().map(({ label }) => label)
  }
}

const done = Promise.resolve()

/**
 * The source of randomness of the scheduler: the picks, and then mostly the oldest task. Now and then it is another one, because polls that
 * take turns in a fixed order may keep each other from the end for ever, as no real processes do.
 */
class Picks {
  private readonly picks: readonly number[]
  private next = 0
  private readonly random = createRandom(1)

  constructor(picks: readonly number[]) {
    this.picks = picks
  }

  clone(): Picks {
    return new Picks(this.picks)
  }

  nextInt(min: number, max: number): number {
    const pick = this.picks[this.next++] ?? Math.floor(Math.max(0, this.random() - 0.75) * 256)
    return min + (pick % (max - min + 1))
  }
}
