import type { JsonObject } from '../../../../agent/messages.ts'
import type { StoredRun } from '../../../../runs/run-store.ts'
import type { ResponseFields } from './parameters.ts'
import type { InputItem } from './request.ts'

/** What is stored with a run for its responses. */
interface ResponseEcho extends PartEcho {
  route: 'responses'
  /** The further requests that the run answers, by part. */
  parts?: Record<string, PartEcho>
}

/** One request: its parameters, and its input items. */
export interface PartEcho {
  /** Epoch seconds. */
  created: number
  fields: ResponseFields
  input: InputItem[]
}

export function toEcho(part: PartEcho): JsonObject {
  return { route: 'responses', ...part } satisfies ResponseEcho as unknown as JsonObject
}

/** Undefined for a run of another route, and for a response that was deleted. */
function echoOf({ endedAt, log, request }: Pick<StoredRun, 'endedAt' | 'log' | 'request'>): ResponseEcho | undefined {
  const echo = (endedAt === undefined ? request?.echo : log?.echo) as unknown as ResponseEcho | undefined
  return echo?.route === 'responses' ? echo : undefined
}

/** The echo of a part. The client may answer calls by another route: then the part has the parameters of the first. */
export function partEchoOf(run: Pick<StoredRun, 'endedAt' | 'log' | 'request'>, part: number): PartEcho | undefined {
  const echo = echoOf(run)
  if (!echo || part === 1) return echo
  return echo.parts?.[part] ?? { ...echo, input: [] }
}

/** The echo with the request of a further part. */
export function withPart(run: StoredRun, part: number, partEcho: PartEcho): JsonObject | undefined {
  const echo = echoOf(run)
  return echo && ({ ...echo, parts: { ...echo.parts, [part]: partEcho } } as unknown as JsonObject)
}
