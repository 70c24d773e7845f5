import type { TestContext } from 'node:test'

/** Monday. The expectations of "today", "last month" and so on are of this day. */
export const startOfQuestions = '2026-11-23T10:00:00Z'

/** Sets the clock of this process; time goes on from there. Child processes keep the clock of the machine. */
export function setClock(t: Pick<TestContext, 'after'>, start: string): void {
  const MachineDate = globalThis.Date
  const offset = MachineDate.parse(start) - MachineDate.now()
  globalThis.Date = class extends MachineDate {
    constructor(...parts: [] | [number | string | Date]) {
      super(...((parts.length === 0 ? [MachineDate.now() + offset] : parts) as [number]))
    }

    static override now(): number {
      return MachineDate.now() + offset
    }
  } as DateConstructor
  t.after(() => void (globalThis.Date = MachineDate))
}
