/** One line of the table. */
export interface Figure {
  what: string
  relay?: string
  service: string
  /** Service over relay, or what else the aim is about. */
  ratio?: string
  aim?: string
  /** Whether the aim is met; undefined where there is none. */
  isMet?: boolean
}

/** `sides`: what is compared, if not the relay with the service. */
export function printTable(
  title: string,
  figures: readonly Figure[],
  [left, right]: readonly [string, string] = ['relay', 'service'],
): void {
  const columns = ['', left, right, 'ratio', 'aim', '']
  const rows = [columns, ...figures.map(toRow)]
  const widths = columns.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  console.log(`\n${title}`)
  for (const row of rows) {
    console.log(
      `  ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join('  ')}`.trimEnd(),
    )
  }
}

function toRow({ what, relay = '', service, ratio = '', aim = '', isMet }: Figure): readonly string[] {
  return [what, relay, service, ratio, aim, isMet === undefined ? '' : isMet ? 'met' : 'MISSED']
}

/** A number with three significant digits, no less than its whole part. */
export function number(value: number, unit = ''): string {
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value) || 1)))
  return `${value.toFixed(Math.min(3, digits))}${unit === '' ? '' : ` ${unit}`}`
}
