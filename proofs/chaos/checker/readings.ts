import { ofKind, type Operation, type SeenEvent } from '../history/operations.ts'

/** The events of a run for one reader, from the first event, over any number of connections. */
export interface Reading {
  requestId: string
  reader: string
  /** Events without the events revoked by a `retrying` chunk. */
  events: SeenEvent[]
  /** Numbers out of order and events after the last, as texts. */
  faults: string[]
  endedAt: number
}

/** Finish reasons of interruptions. */
const pauses = new Set(['approval_required', 'tool_calls'])

/** The readings of a history. A new request for the stream of a chat begins a new reading; `follow` continues the one of its reader. */
export function toReadings(history: readonly Operation[]): Reading[] {
  const readings: Reading[] = []
  const current = new Map<string, Reading>()
  const begin = (requestId: string, reader: string, endedAt: number): Reading => {
    const reading = { requestId, reader, events: [], faults: [], endedAt }
    readings.push(reading)
    current.set(`${reader} ${requestId}`, reading)
    return reading
  }
  const reads = [...ofKind(history, 'chat'), ...ofKind(history, 'follow')].toSorted((a, b) => a.endedAt - b.endedAt)
  for (const read of reads) {
    const events = read.reply?.events
    if (!events) continue
    const { requestId } = read.args
    const [reader, after] = read.kind === 'chat' ? [read.client, 0] : [read.args.reader, read.args.after]
    const continued = after === 0 ? undefined : current.get(`${reader} ${requestId}`)
    const reading = continued ?? begin(requestId, reader, read.endedAt)
    reading.endedAt = read.endedAt
    for (const event of events) append(reading, event)
  }
  return readings
}

function append({ events, faults }: Reading, event: SeenEvent): void {
  const last = events.at(-1)
  const lastNumber = last?.number ?? 0
  if (event.label === 'retrying' && event.number <= lastNumber) return void events.splice(event.number)
  if (event.number !== lastNumber + 1) faults.push(`event ${event.number} follows event ${lastNumber}`)
  if (last && isEnd(last)) faults.push(`event ${event.number} follows the last event`)
  events.push(event)
}

export function isEnd({ finish }: SeenEvent): boolean {
  return finish !== undefined && !pauses.has(finish)
}

/** The finish reason; undefined for a broken reading. */
export function endOf({ events }: Reading): string | undefined {
  const last = events.at(-1)
  return last && isEnd(last) ? last.finish : undefined
}

/** The answer by its definition: the `answer` tokens after the last event with another label. */
export function outputOf({ events }: Reading): string {
  const start = events.findLastIndex(({ label }) => label !== 'answer') + 1
  return events
    .slice(start)
    .map(({ token }) => token)
    .join('')
}
