import { number } from '../report.ts'
import { spreadOf } from './statistics.ts'

/** Measured values of a turn, by the names in `rows`. A product without sessions has no value for `storedJson` and `storedStream`. */
export type Figures = Partial<Record<keyof typeof rows, number>>

/** Result of a product in a round: figures, or the reason of a failure. */
export interface Turn {
  product: string
  round: number
  figures?: Figures
  failure?: string
}

/** Rows of the table: label and unit. */
const rows = {
  chatCpuUs: ['processor time per chat', 'us'],
  chatsPerSecond: ['chats/s, 64 clients', ''],
  streamCpuUs: ['processor time per stream of 100 tokens', 'us'],
  tokensPerSecond: ['streamed tokens/s, 64 clients', ''],
  chatP50Ms: ['chat, 1 client, p50', 'ms'],
  chatP95Ms: ['chat, 1 client, p95', 'ms'],
  firstTokenP50Ms: ['first token, 1 client, p50', 'ms'],
  firstTokenP95Ms: ['first token, 1 client, p95', 'ms'],
  startMs: ['start until the first answer', 'ms'],
  startCpuMs: ['processor time until the first answer', 'ms'],
  idleMb: ['memory, idle', 'MB'],
  loadMb: ['memory, highest under load', 'MB'],
  storedJson: ['chat stored, when killed at the answer', ''],
  storedStream: ['stream stored, when killed at its end', ''],
} as const

const shares: readonly string[] = ['storedJson', 'storedStream']

/** Formats the turns as a Markdown table: a column for each product, medians with quartiles. Failed turns follow as a list. */
export function formatTurns(products: readonly string[], turns: readonly Turn[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const figures = Object.entries(rows).map(([name, [label, unit]]) => {
    const cells = products.map((product) => {
      const values = turns.filter((turn) => turn.product === product).flatMap(({ figures }) => figures?.[name as keyof Figures] ?? [])
      return formatCell(name, values, unit)
    })
    return line([label, ...cells])
  })
  const failures = turns.filter(({ failure }) => failure !== undefined)
  return [
    line(['', ...products]),
    line(['---', ...products.map(() => '--:')]),
    ...figures,
    ...failures.map(({ product, round, failure }) => `\n${product} failed in round ${round}: ${failure}`),
  ].join('\n')
}

function formatCell(name: string, values: readonly number[], unit: string): string {
  if (values.length === 0) return ''
  if (shares.includes(name)) return `${values.filter((value) => value === 1).length} of ${values.length}`
  const { low, median, high } = spreadOf(values)
  return `${number(median, unit)} (${number(low)}-${number(high)})`
}
