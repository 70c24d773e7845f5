import type { Owner } from '../access/owner.ts'
import type { CurrentAgent } from '../configuration/agent.ts'
import { ServiceError, toErrorBody } from '../errors.ts'
import { endAsLost, execute, type Execution } from './execute.ts'
import { EventLog } from './event-log.ts'
import { fromCompact } from './compact-log.ts'
import { checkHints } from './hints.ts'
import { createLine, textOf } from './line.ts'
import { gaveUpWaiting } from './outcome.ts'
import { LiveRun } from './live-run.ts'
import type { ChatRequest, Operation, RunKey } from './run.ts'
import { FenceLost, type NewMessage, type RunStore, type StoredRun, type Turn } from './run-store.ts'
import { shortName } from './short-name.ts'
import { toNewMessages } from './transcript.ts'

export interface ChatDependencies extends Omit<Execution, 'store'> {
  store: RunStore
  agent: CurrentAgent
  /** Of this process. */
  holder: string
  onEnd(run: LiveRun): void
  /** Rejects when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** A chat as its caller asks for it. */
export interface NewChat {
  requestId: string
  /** Undefined where the caller named none: a new session, or that of the first request with this id. */
  sessionId: string | undefined
  operation: Operation
  bodyHash: string
  request: ChatRequest
  onDisconnect: 'cancel' | 'continue'
}

/** A run that somebody follows, live or from the store, until the signal that they gave is aborted. */
export interface OpenRun {
  requestId: string
  sessionId: string
  input: string
  log: EventLog
  /** Resolves when the log has its `end`. */
  ended: Promise<void>
}

export interface Chats {
  /**
   * Starts a chat, or joins, continues or replays the one that has its request id. Resolves when it has its session.
   * `left` is aborted when the caller has gone; a run that nobody waits for is stopped after a grace.
   */
  open(who: Owner, chat: NewChat, left: AbortSignal): Promise<OpenRun>
  /** A run to follow; `not_found` when the caller has none with this id. */
  follow(key: RunKey, left: AbortSignal): Promise<OpenRun>
  /** Cancels at once, down to tools and the model's socket, and resolves when the end is stored. */
  cancel(key: RunKey): Promise<void>
  /** Takes up what dead processes left. */
  adopt(): Promise<void>
  /** Takes nothing new and waits for what runs, `ms` at most. */
  drain(ms: number): Promise<void>
  /** Runs in line or running. */
  readonly live: number
}

/** The request id was used before. */
class Known extends Error {
  readonly run: StoredRun
  constructor(run: StoredRun) {
    super('known')
    this.run = run
  }
}

export function createChats(deps: ChatDependencies): Chats {
  const { store, now, newId } = deps
  const live = new Map<string, LiveRun>()
  const line = createLine(store, now)
  let lastPlace = 0
  let isStopping = false

  /** Grows with every arrival, also within a millisecond. */
  function nextPlace(): number {
    lastPlace = Math.max(lastPlace + 1, now() * 1000)
    return lastPlace
  }

  async function open(who: Owner, chat: NewChat, left: AbortSignal): Promise<OpenRun> {
    const agent = deps.agent()
    const settling = agent.tools.settling()
    if (settling) await settling
    const key = { tenant: who.tenant, owner: who.owner, requestId: chat.requestId }
    // From here to the launch nothing is awaited: of two repeats one finds the other.
    const running = live.get(textOf(key))
    if (running) {
      refuseOther(running, chat)
      if (running.stopCause !== 'left' || running.log.ended) return join(running, left)
      // It is being stopped because nobody waited for it. Now somebody does: it goes on from where it ends.
      await running.ended
      return open(who, chat, left)
    }
    if (isStopping) throw new ServiceError('overloaded', 'The service is stopping.', { retryAfter: 5 })
    checkHints(chat.request.filters, agent.tools)
    const run = new LiveRun({ ...chat, key, sessionId: chat.sessionId ?? newId(), agent, fence: 1 })
    try {
      return await join(launch(run, begin(run)), left)
    } catch (error) {
      if (!(error instanceof Known)) throw error
      refuseOther(error.run, chat)
      return reopen(error.run, { goOn: error.run.continuable }, left)
    }
  }

  /** Registers a run, and drives it as soon as it has its session. */
  function launch(run: LiveRun, started: Promise<Turn>, isWanted: () => Promise<boolean> = async () => true): LiveRun {
    const text = textOf(run.key)
    live.set(text, run)
    run.started = started.catch((error: unknown) => {
      live.delete(text)
      throw error instanceof FenceLost
        ? new ServiceError('process_lost', 'Another process has taken over the run.', { cause: error })
        : error
    })
    run.ended = run.started.then(
      (turn) => drive(run, turn, isWanted),
      () => undefined,
    )
    return run
  }

  /** The caller counts as a reader from now on, also while the run waits for its session. */
  async function join(run: LiveRun, left: AbortSignal): Promise<OpenRun> {
    const leave = run.attach()
    if (left.aborted) leave()
    else left.addEventListener('abort', leave, { once: true })
    await run.started
    return { requestId: run.key.requestId, sessionId: run.sessionId, input: run.input, log: run.log, ended: run.ended }
  }

  async function begin(run: LiveRun): Promise<Turn> {
    const { key, request, agent } = run
    const begun = await store.begin({
      ...key,
      sessionId: run.sessionId,
      sessionKey: newId(),
      shortName: shortName(request.messages),
      operation: run.operation,
      bodyHash: run.bodyHash,
      request,
      onDisconnect: run.onDisconnect,
      holder: deps.holder,
      place: nextPlace(),
      agent: agent.config.name,
      now: now(),
      messages: messagesOf(run),
    })
    if (begun.kind === 'known') throw new Known(begun.run)
    return begun.kind === 'running' ? begun.turn : waitInLine(run)
  }

  function waitInLine(run: LiveRun): Promise<Turn> {
    return line.wait(run, () => messagesOf(run), run.agent.config.limits.max_session_wait * 1000)
  }

  function messagesOf({ request, key }: LiveRun): NewMessage[] {
    return toNewMessages(request.messages, key.requestId, now())
  }

  async function drive(run: LiveRun, turn: Turn, isWanted: () => Promise<boolean>): Promise<void> {
    run.startedAt = now()
    try {
      line.wake(await ((await isWanted()) ? execute(run, turn, deps) : endAsLost(run, turn, deps)))
      live.delete(textOf(run.key))
    } catch (error) {
      if (!(error instanceof FenceLost)) deps.onFault(run, error)
      tellFailure(run, turn, error)
    }
    deps.onEnd(run)
  }

  /** The end could not be stored (disk full, database gone): readers are told at once, the store as soon as it can take it. */
  function tellFailure(run: LiveRun, turn: Turn, error: unknown): void {
    const isLost = error instanceof FenceLost
    const told = new ServiceError(isLost ? 'process_lost' : 'internal', 'Another process has taken over the run.')
    run.log.append({ type: 'end', reason: 'error', usage: [], thoughts: [], error: toErrorBody(told) })
    const store = isLost ? Promise.resolve() : storeEnd(run, turn)
    void store.finally(() => live.delete(textOf(run.key)))
  }

  async function storeEnd(run: LiveRun, turn: Turn): Promise<void> {
    const unread = new LiveRun(run)
    unread.startedAt = run.startedAt
    for (let delayMs = firstRetryMs; ; delayMs = Math.min(delayMs * 2, maxRetryMs)) {
      await deps.sleep(delayMs)
      try {
        return line.wake(await endAsLost(unread, turn, deps))
      } catch (error) {
        if (error instanceof FenceLost) return
      }
    }
  }

  /** A run that this process does not have: replayed when it has ended, else continued or awaited. */
  async function reopen(run: StoredRun, { goOn }: { goOn: boolean }, left: AbortSignal): Promise<OpenRun> {
    if (run.endedAt !== undefined && !goOn) return replay(run)
    if (run.endedAt !== undefined) {
      const taken = await takeOver(run)
      if (taken) return join(launch(...taken), left)
    }
    await deps.sleep(lookAgainMs)
    return follow(run, left)
  }

  async function takeOver(run: StoredRun): Promise<[LiveRun, Promise<Turn>] | undefined> {
    if (!run.request) return undefined
    const messages = toNewMessages(run.request.messages, run.requestId, now())
    const taken = await store.takeOver(run, run, { holder: deps.holder, place: nextPlace(), now: now(), messages })
    if (!taken) return undefined
    const { tenant, owner, requestId } = run
    const key = { tenant, owner, requestId }
    const next = new LiveRun({ ...run, key, request: run.request, agent: deps.agent(), fence: taken.fence })
    return [next, taken.kind === 'running' ? Promise.resolve(taken.turn) : waitInLine(next)]
  }

  async function follow(key: RunKey, left: AbortSignal): Promise<OpenRun> {
    const running = live.get(textOf(key))
    if (running) return join(running, left)
    const stored = await store.find(key)
    if (!stored || stored.operation === 'tool_execute') throw new ServiceError('not_found', `There is no run ${key.requestId}.`)
    return reopen(stored, { goOn: false }, left)
  }

  async function cancel(key: RunKey): Promise<void> {
    const running = live.get(textOf(key))
    if (running) {
      running.stop('cancelled')
      return running.ended
    }
    const stored = await store.find(key)
    if (!stored) throw new ServiceError('not_found', `There is no run ${key.requestId}.`)
    throw new ServiceError('run_ended', `Run ${key.requestId} has ended.`)
  }

  async function adopt(): Promise<void> {
    for (const orphan of await store.orphans(deps.holder, now())) {
      const taken = await takeOver(orphan)
      if (!taken) continue
      const [run, started] = taken
      // Who asked for a stream or an answer may be gone with the process; it gets the grace to come back.
      launch(run, started, run.onDisconnect === 'continue' ? undefined : () => run.findsReader())
    }
  }

  async function drain(ms: number): Promise<void> {
    isStopping = true
    const drained = new AbortController()
    const all = Promise.all([...live.values()].map((run) => run.ended)).finally(() => drained.abort())
    await Promise.race([all, deps.sleep(ms, drained.signal).catch(() => undefined)])
  }

  return {
    open,
    follow,
    cancel,
    adopt,
    drain,
    get live() {
      return live.size
    },
  }
}

const firstRetryMs = 250
const maxRetryMs = 10_000
/** How often a run that another process has is looked for. */
const lookAgainMs = 500

function replay(run: StoredRun): OpenRun {
  const log = new EventLog({ events: run.log ? fromCompact(run.log.events) : [gaveUpWaiting], restoredAt: run.log?.restoredAt })
  return {
    requestId: run.requestId,
    sessionId: run.sessionId,
    input: run.log?.input ?? '',
    log,
    ended: Promise.resolve(),
  }
}

/** A request id stands for one request: the same operation with the same body in the same session. */
function refuseOther(run: Pick<LiveRun, 'operation' | 'bodyHash' | 'sessionId'>, chat: NewChat): void {
  const isSame = run.operation === chat.operation && run.bodyHash === chat.bodyHash
  if (isSame && (chat.sessionId === undefined || chat.sessionId === run.sessionId)) return
  throw new ServiceError('request_id_reused', `The request id ${chat.requestId} was used for another request.`)
}
