/** Row of the printed table. */
export interface Figure {
  label: string
  relay?: string
  service: string
  /** Service divided by relay, or another value compared with the aim. */
  ratio?: string
  aim?: string
  /** True if the aim is met; undefined without an aim. */
  isMet?: boolean
}

/** Prints the figures as a table. The third argument holds the titles of the two compared columns. */
export function printTable(
  title: string,
  figures: readonly Figure[],
  [leftTitle, rightTitle]: readonly [string, string] = ['relay', 'service'],
): void {
  const columns = ['', leftTitle, rightTitle, 'ratio', 'aim', '']
  const rows = [columns, ...figures.map(toRow)]
  const widths = columns.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  console.log(`\n${title}`)
  for (const row of rows) {
    console.log(
      `  ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join('  ')}`.trimEnd(),
    )
  }
}

function toRow({ label, relay = '', service, ratio = '', aim = '', isMet }: Figure): readonly string[] {
  return [label, relay, service, ratio, aim, isMet === undefined ? '' : isMet ? 'met' : 'MISSED']
}

/** Formats a number with three significant digits; the whole part is never shortened. */
export function number(value: number, unit = ''): string {
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value) || 1)))
  return `${value.toFixed(Math.min(3, digits))}${unit === '' ? '' : ` ${unit}`}`
}
