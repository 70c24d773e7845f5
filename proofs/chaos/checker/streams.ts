import { ofKind, type SeenEvent } from '../history/operations.ts'
import { mayBeDeleted, type Facts } from './facts.ts'
import { endOf, isEnd, toReadings, type Reading } from './readings.ts'

/** Name of the reader of all runs at the end. */
export const lastReader = 'last'

/**
 * Event numbers have no gap, and every complete reading equals the final log of the run, number by number. After the first event of a run
 * reached a client, every reader finds the run.
 */
export function checkStreams(facts: Facts): string[] {
  const readings = toReadings(facts.history)
  const finals = new Map(readings.filter(({ reader }) => reader === lastReader).map((reading) => [reading.requestId, reading]))
  return [...readings.flatMap((reading) => checkReading(reading, finals.get(reading.requestId), facts)), ...checkFound(facts)]
}

function checkReading(reading: Reading, final: Reading | undefined, { repeated }: Facts): string[] {
  const { requestId, reader, events, faults } = reading
  const label = `run ${requestId}, reader ${reader}`
  const found = faults.map((fault) => `${label}: ${fault}`)
  const end = endOf(reading)
  if (!final || final === reading || end === undefined || faults.length > 0) return found
  // A repeat continues a failed or abandoned run, and the final log lacks the earlier end.
  if ((end === 'error' || end === 'cancelled') && repeated.has(requestId)) return found
  const at = events.findIndex((event, index) => !isSame(event, final.events[index]))
  if (at !== -1) found.push(`${label}: event ${at + 1} is ${show(events[at])}, in the final log ${show(final.events[at])}`)
  else if (final.events.length !== events.length) found.push(`${label}: ended after ${events.length} of ${final.events.length} events`)
  return found
}

/** The event of an interruption is an ordinary event after the decision. */
function isSame(a: SeenEvent, b: SeenEvent | undefined): boolean {
  const finishOf = (event: SeenEvent) => (isEnd(event) ? event.finish : undefined)
  return b !== undefined && a.label === b.label && a.token === b.token && finishOf(a) === finishOf(b)
}

function show(event: SeenEvent | undefined): string {
  return event ? JSON.stringify([event.label, event.token, event.finish ?? null]) : 'missing'
}

function checkFound(facts: Facts): string[] {
  return ofKind(facts.history, 'follow').flatMap(
    ({ args: { requestId, reader }, status, error, invokedAt, endedAt, result, reply, process }) => {
      const session = facts.chats.get(requestId)?.[0]?.args.session ?? ''
      if ((facts.acknowledgedAt.get(requestId) ?? Infinity) >= invokedAt || mayBeDeleted(facts, session, endedAt)) return []
      if (result === 'fail')
        return [`run ${requestId}: reader ${reader} is refused by ${process} after the first event: ${status} ${error ?? ''}`]
      const isEmpty = result === 'ok' && status === 200 && reply?.events.length === 0
      return isEmpty ? [`run ${requestId}: reader ${reader} received a stream without events from ${process}`] : []
    },
  )
}
