import { issuerOf, subOf, type Owner } from '../../access/owner.ts'
import type { Principal } from '../../access/permissions.ts'
import type { ToAnswerFiles } from '../../artifacts/answer-files.ts'
import { invalid } from '../../errors.ts'
import { parsePosition, toOffset, type RowPosition } from '../../json/offset.ts'
import { keptFilesOf } from '../log/outcome.ts'
import type { StoredRun } from '../run-store.ts'
import type { RunKey } from '../run.ts'
import { runKeyText } from '../ownership/run-registry.ts'
import { toBodyExcerpt, type CallbackStatus, type StoredCallback, type CallbackAttempt } from './attempt.ts'
import { toCallbackBody, toAttempt, toForeignUrl, withoutUser, type CallbackView } from './callbacks.ts'

/** Port: the callbacks and the push notifications of a tenant as one list, newest first. */
export interface CallbackListStore {
  list(caller: Owner, page: CallbackPage): Promise<ListedCallback[]>
  /** Existing runs with these keys, in no order. */
  runsOf(tenant: string, keys: readonly RunKey[]): Promise<StoredRun[]>
}

export interface CallbackPage {
  /** Undefined: every status. */
  status: CallbackStatus | undefined
  limit: number
  /** True for the callbacks of all owners in the tenant. */
  anyOwner: boolean
  /** The last callback of the page before. */
  before: CallbackPosition | undefined
}

interface CallbackPosition extends RowPosition {
  /** Of a notification; empty for a callback. */
  configId: string
}

export interface ListedCallback extends RunKey, CallbackPosition, Pick<StoredCallback, 'url' | 'status' | 'attempts'> {
  /** The event of the run that a callback reports; empty for a notification. */
  eventId: string
  /** When the event was accepted, or the address was given. */
  createdAt: number
  /** Absent before the first attempt, and where no further attempt is planned. */
  nextAttemptAt: number | undefined
}

/** JSON view of a callback in a list. */
interface ListedCallbackView {
  request_id: string
  issuer: string
  sub: string
  created_at: string
  config_id?: string
  url: string
  status: CallbackStatus
  attempts: AttemptView[]
  next_attempt_at?: string
}

/** The bodies are for the owner of the run only. */
type AttemptView = CallbackView['attempts'][number] & { request_body?: string; response_body?: string }

interface CallbackListView {
  callbacks: ListedCallbackView[]
  /** Position of the last callback, for `before` of the next page; empty for an empty page. */
  offset: string
  has_more: boolean
}

interface CallbackQuery {
  status: CallbackStatus | undefined
  limit: number
  before: string | undefined
}

/** Lists own callbacks and push notifications, and with `observability.read` those of the tenant. Throws a validation error for an unknown `before`. */
export type ListCallbacks = (caller: Principal, query: CallbackQuery) => Promise<CallbackListView>

interface CallbackListDependencies {
  store: CallbackListStore
  toAnswerFiles: ToAnswerFiles
  /** The service's public address. */
  source(): string
}

export function createCallbackList({ store, toAnswerFiles, source }: CallbackListDependencies): ListCallbacks {
  /**
   * Bodies of the sent callbacks, by run. A body is not stored: each attempt sends the same, with new links to files, which are left out here.
   */
  async function requestBodies(tenant: string, callbacks: readonly ListedCallback[]): Promise<Map<string, string>> {
    const sent = callbacks.filter(({ attempts, configId }) => configId === '' && attempts.length > 0)
    const runs = sent.length === 0 ? [] : await store.runsOf(tenant, sent)
    const runsByKey = new Map(runs.map((run) => [runKeyText(run), run]))
    const bodies = new Map<string, string>()
    for (const callback of sent) {
      const run = runsByKey.get(runKeyText(callback))
      if (run?.endedAt === undefined) continue
      const kept = keptFilesOf(run)
      const files = kept ? await toAnswerFiles(kept, false) : []
      const body = toCallbackBody(run, { eventId: callback.eventId, source: source(), files })
      bodies.set(runKeyText(callback), toBodyExcerpt(Buffer.from(body)))
    }
    return bodies
  }

  return async (caller, { status, limit, before }) => {
    const anyOwner = caller.permissions.has('observability.read')
    const position = before === undefined ? undefined : toCallbackPosition(before)
    if (before !== undefined && !position) throw invalid(['query', 'before'], 'is not the offset of a page of this list')
    const found = await store.list(caller, { status, anyOwner, before: position, limit: limit + 1 })
    const callbacks = found.slice(0, limit)
    const isOwn = ({ owner }: ListedCallback) => owner === caller.owner
    const bodies = await requestBodies(caller.tenant, callbacks.filter(isOwn))
    const last = callbacks.at(-1)
    return {
      callbacks: callbacks.map((callback) => ({
        ...toCallbackView(callback),
        ...(isOwn(callback) ? toOwnView(callback, bodies.get(runKeyText(callback))) : {}),
      })),
      offset: last ? toOffset([last.createdAt, last.requestId, last.owner, last.configId]) : '',
      has_more: found.length > limit,
    }
  }
}

/** Undefined for a text that is not an `offset` of this list. Earlier versions listed callbacks alone, without a `configId`. */
function toCallbackPosition(offset: string): CallbackPosition | undefined {
  const [createdAt, requestId, owner, configId = '', ...more] = parsePosition(offset) ?? []
  if (typeof requestId !== 'string' || typeof owner !== 'string' || typeof configId !== 'string' || more.length > 0) return undefined
  return Number.isSafeInteger(createdAt) ? { createdAt: Number(createdAt), requestId, owner, configId } : undefined
}

/** The view for any reader: without bodies, and without secrets of the URL. */
function toCallbackView(callback: ListedCallback): ListedCallbackView {
  const { requestId, createdAt, configId, url, status, attempts, nextAttemptAt } = callback
  return {
    request_id: requestId,
    issuer: issuerOf(callback),
    sub: subOf(callback),
    created_at: new Date(createdAt).toISOString(),
    ...(configId === '' ? {} : { config_id: configId }),
    url: toForeignUrl(url),
    status,
    attempts: attempts.map(toAttempt),
    ...(nextAttemptAt === undefined ? {} : { next_attempt_at: new Date(nextAttemptAt).toISOString() }),
  }
}

/** What only the owner sees. The bodies are shown with the last attempts. */
function toOwnView({ url, attempts }: ListedCallback, endBody: string | undefined): Pick<ListedCallbackView, 'url' | 'attempts'> {
  const firstBody = attempts.length - shownBodies
  const toOwnAttempt = (attempt: CallbackAttempt, n: number): AttemptView => {
    const { requestBody = attempt.interruption === undefined ? endBody : undefined, responseBody } = attempt
    return {
      ...toAttempt(attempt),
      ...(requestBody !== undefined && n >= firstBody ? { request_body: requestBody } : {}),
      ...(responseBody === undefined ? {} : { response_body: responseBody }),
    }
  }
  return { url: withoutUser(url), attempts: attempts.map(toOwnAttempt) }
}

const shownBodies = 10
