import type { Operation } from './history/operations.ts'

export interface Report {
  history: readonly Operation[]
  faults: ReadonlyMap<string, number>
  /** Anomalies by property. */
  anomalies: ReadonlyMap<string, readonly string[]>
  /** Number of requests by replica. */
  passed: readonly number[]
  settledMs: number
}

/** Maximum number of printed anomalies per property. */
const maxShown = 10

/** Prints the numbers of a chaos run and its anomalies. Returns the number of anomalies. */
export function printReport({ history, faults, anomalies, passed, settledMs }: Report): number {
  const line = (label: string, value: string | number) => console.log(`  ${label.padEnd(36)}${value}`)
  console.log('\nInjected faults')
  for (const [name, times] of faults) line(name, times)
  console.log(`\nOperations${' '.repeat(28)}ok, refused, unknown`)
  for (const [kind, operations] of Map.groupBy(history, (operation) => operation.kind)) {
    const count = (result: string) => operations.filter((operation) => operation.result === result).length
    line(kind, `${count('ok')}, ${count('fail')}, ${count('unknown')}`)
  }
  line('all', history.length)
  line('requests by replica', passed.join(', '))
  line('settled after', `${(settledMs / 1000).toFixed(1)} s`)
  console.log('\nProperties')
  for (const [property, texts] of anomalies) {
    line(property, texts.length === 0 ? 'holds' : `${texts.length} ANOMALIES`)
    for (const anomaly of texts.slice(0, maxShown)) console.log(`    ${anomaly}`)
  }
  const count = [...anomalies.values()].reduce((total, texts) => total + texts.length, 0)
  console.log(count === 0 ? '\nNothing was lost, made twice, or left behind.' : `\n${count} ANOMALIES`)
  return count
}
