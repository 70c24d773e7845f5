/** Milliseconds that this process itself has worked since: what else the machine does counts for nothing. */
export function workSince(): () => number {
  const from = process.cpuUsage()
  return () => process.cpuUsage(from).user / 1000
}
