import process from 'node:process'

/** Milliseconds of this process's processor that a piece of work takes; wall time would tell of other processes. */
function processorMs(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** Growth that is quadratic takes 16 times as long for four times as much; below `noiseMs` nothing is told apart. */
const bearable = 9
const noiseMs = 100

/** Whether work on four times as much takes about four times as long. `toInput` makes an input of so many parts. */
export function growsLinearly<T>(toInput: (parts: number) => T, work: (input: T) => unknown, parts = 20_000): boolean {
  const [small, large] = [toInput(parts), toInput(parts * 4)]
  work(small)
  const least = Math.min(...[1, 2].map(() => processorMs(() => work(small))))
  const most = processorMs(() => work(large))
  return most <= Math.max(noiseMs, least * bearable)
}
