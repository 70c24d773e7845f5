import type { Owner } from '../access/owner.ts'
import type { Caller } from '../access/rate-limits.ts'
import type { Agent, CurrentAgent } from '../configuration/agent.ts'
import { ServiceError } from '../errors.ts'
import { createAcceptance, type ChatEvent } from './intake/accept.ts'
import type { Admission, Load } from './intake/admission.ts'
import { createAdoption } from './ownership/adopt.ts'
import { createAsyncRuns, isNobodys, type AsyncRuns } from './ownership/async-runs.ts'
import { createStandingRuns, type StandingRuns } from './approvals/interrupted-runs.ts'
import type { CheckedAttachments } from './attachments/attachments.ts'
import { createRemoteRuns } from './ownership/remote/remote-runs.ts'
import { serveRemoteReaders } from './ownership/remote/remote-readers.ts'
import type { TailStore } from './ownership/remote/tail-store.ts'
import { checkHints } from './intake/hints.ts'
import { serviceStopping } from './log/outcome.ts'
import { LiveRun } from './ownership/live-run.ts'
import { createLiveRuns, type LiveRunsDependencies, type OpenRun } from './ownership/live-runs.ts'
import { runKeyText, type ChatRequest, type RunKey } from './run.ts'
import type { NewChat, OpenTarget } from './new-chat.ts'
import type { Accepted, Begun, StoredRun } from './run-store.ts'
import { replay } from './log/replay.ts'
import { shortName } from './short-name.ts'
import { stopLost } from './ownership/stop-lost.ts'
import { toNewMessages } from './window/transcript.ts'

export interface ChatDependencies extends LiveRunsDependencies {
  agent: CurrentAgent
  /** Why an address can't be called, for who named it; undefined where it can. */
  refusalOf(url: string): Promise<string | undefined>
  admission: Pick<Admission, 'refuseRun' | 'refuseEvent'>
  /** Absent where this process shares its runs with nobody. */
  tails?: TailStore | undefined
}

export type OnSession = (sessionId: string) => void

export interface Chats extends Pick<StandingRuns, 'decide' | 'expire'> {
  /**
   * Starts a chat, or joins, continues or replays the one that has its request id. Resolves when it has its session.
   * `left` is aborted when the caller has gone; a run that nobody waits for is stopped after a grace. `onSession` is called as soon as the
   * session of the run is known, which is before the run has its turn.
   */
  open(who: Caller, chat: NewChat, left: AbortSignal, onSession?: OnSession): Promise<OpenRun>
  /**
   * Takes an event: its run is stored when this resolves, and starts, here or elsewhere, when its session and a worker are free. The same event again has
   * the ids of the first, and runs nothing; `toChat`, which may refuse what it holds, is not asked then.
   */
  accept(who: Caller, event: ChatEvent, toChat: () => NewChat): Promise<Accepted>
  /** Works on an accepted run: what its job does. */
  work: AsyncRuns['work']
  /** A run to follow; `not_found` when the caller has none with this id. */
  follow(key: RunKey, left: AbortSignal): Promise<OpenRun>
  /** Cancels at once, down to tools and the model's socket, and resolves when the end is stored. */
  cancel(key: RunKey): Promise<void>
  /** Cancels the runs of a session that this process has, also those in its line, and waits for their ends; for a few seconds at most. */
  cancelAll(who: Owner, sessionId: string): Promise<void>
  /** Stops those whose session was deleted. */
  stopGone(who: Owner, sessionId: string): Promise<void>
  /** Unended runs that this process has. */
  load(): Pick<Load, 'known' | 'begun'>
  /** Whose they are, one for each that has begun. */
  running(): Owner[]
  /** Those of this process that run, and those that wait for their session. */
  counts(): { pending: number; running: number }
  /** Takes up what processes left that are lost for more than `graceMs`. */
  adopt(graceMs: number): Promise<void>
  /** Takes nothing new, waits for what runs, `ms` at most, and gives up the rest for another process. */
  drain(ms: number): Promise<void>
}

export function createChats(deps: ChatDependencies): Chats {
  const { store, bus, now, newId } = deps
  const live = createLiveRuns({ ...deps, followElsewhere: (run) => remote.goOn(run) })
  /** Request ids that the store is asked about: of two that come together one waits for the other. */
  const openings = new Map<string, Opening>()
  const accept = createAcceptance({
    ...deps,
    alone,
    storeNew: async (chat, target) => (await storeNew(chat, target)).begun,
    isStopping: () => isStopping,
  })
  const adoption = createAdoption({ ...deps, live, isBusy: (key) => openings.has(runKeyText(key)), nextPlace })
  const { tails } = deps
  const remote = createRemoteRuns({ ...deps, live })
  const readers = tails && serveRemoteReaders({ ...deps, live, tails })
  const standing = createStandingRuns({ ...deps, live, adoption, alone, follow, refuseStopping })
  const asyncRuns = createAsyncRuns({ ...deps, adoption, alone, isStopping: () => isStopping })
  let lastPlace = 0
  let isStopping = false

  /** Grows with every arrival, also within a millisecond. */
  function nextPlace(): number {
    lastPlace = Math.max(lastPlace + 1, now() * 1000)
    return lastPlace
  }

  async function open(who: Caller, chat: NewChat, left: AbortSignal, onSession?: OnSession): Promise<OpenRun> {
    const agent = deps.agent()
    const release = agent.hold()
    try {
      return await openWith(agent, who, chat, { left, onSession })
    } finally {
      release()
    }
  }

  async function openWith(agent: Agent, who: Caller, chat: NewChat, { left, onSession }: Opener): Promise<OpenRun> {
    const settling = agent.tools.settling()
    if (settling) await settling
    const key = { tenant: who.tenant, owner: who.owner, requestId: chat.requestId }
    let sessionId = chat.sessionId ?? chat.newSessionId
    const joins = (run: LiveRun | StoredRun): void => {
      refuseOther(run, chat)
      sessionId = run.sessionId
      onSession?.(sessionId)
    }
    for (;;) {
      const running = live.find(key)
      if (running) {
        joins(running)
        const isUnwanted = running.stopCause === 'left' || running.stopCause === 'lost'
        if (!isUnwanted || running.log.ended) return live.join(running, left)
        // It is being stopped because nobody waited for it. Now somebody does: it goes on from where it ends.
        await running.ended
        continue
      }
      refuseStopping()
      const opening = openings.get(runKeyText(key))
      if (opening) {
        await opening.working.catch(() => undefined)
        continue
      }
      checkHints(chat.request.filters, agent.tools, chat.at)
      const known = await alone(key, () => begin(who, chat, { key, sessionId, agent }))
      joins(known)
      if (known instanceof LiveRun) return live.join(known, left)
      if (known.status === 'interrupted') return standing.open(known)
      if (known.endedAt !== undefined && !known.continuable) return replay(known)
      if (known.endedAt === undefined) {
        const read = readElsewhere(known, left)
        if (read) return read
        await elsewhere(key, left)
      } else {
        const taken = await alone(key, () => adoption.takeOver(known))
        if (taken) return live.join(taken, left)
      }
    }
  }

  /** One at a time for each request id. */
  async function alone<T>(key: RunKey, work: () => Promise<T>): Promise<T> {
    for (let opening = openings.get(runKeyText(key)); opening; opening = openings.get(runKeyText(key)))
      await opening.working.catch(() => undefined)
    const working = work()
    openings.set(runKeyText(key), { key, working })
    try {
      return await working
    } finally {
      openings.delete(runKeyText(key))
    }
  }

  /** Stores a run and launches it; answers with the one that has its request id, if there is one. */
  async function begin(who: Caller, chat: NewChat, target: OpenTarget): Promise<LiveRun | StoredRun> {
    const asked = deps.admission.refuseRun(who, { ...load(), own: () => unendedOf(who) })
    // Nearly always known at once: a chat does not wait for it.
    const refusal = asked instanceof Promise ? await asked : asked
    // A request that is known is neither refused nor checked again: its files may have changed since.
    const known = (refusal ?? chat.attachments) && (await store.find(target.key))
    if (known) return known
    if (refusal) throw refusal
    const { run, begun } = await storeNew(chat, target)
    if (begun.kind === 'known') return begun.run
    if (begun.kind === 'accepted') throw new Error('A run without an event was accepted as one.')
    return live.launch(run, begun.kind === 'running' ? begun.turn : undefined)
  }

  async function storeNew(chat: NewChat, { key, sessionId, agent, event }: OpenTarget): Promise<{ run: LiveRun; begun: Begun }> {
    const use = { caller: key, agent, filters: chat.request.filters }
    const attached = chat.attachments && (await deps.attachments.check(chat.attachments, use, chat.at))
    const request = attached ? withAttachments(chat.request, attached) : chat.request
    const run = new LiveRun({ ...chat, request, key, sessionId, agent, fence: 1 })
    const { operation, bodyHash, onDisconnect } = run
    const begun = await store.begin({
      ...key,
      ...{ sessionId, operation, bodyHash, request, onDisconnect },
      sessionKey: newId(),
      shortName: shortName(request.messages),
      holder: deps.holder,
      place: nextPlace(),
      agent: agent.config.name,
      now: now(),
      messages: toNewMessages(request, key.requestId, now()),
      ...(attached ? { images: attached.pictures } : {}),
      ...(event ? { event } : {}),
    })
    return { run, begun }
  }

  async function follow(key: RunKey, left: AbortSignal): Promise<OpenRun> {
    for (;;) {
      const running = live.find(key)
      if (running) return live.join(running, left)
      const stored = await findStored(key)
      if (stored.status === 'interrupted') return standing.open(stored)
      if (stored.endedAt !== undefined) return replay(stored)
      const read = readElsewhere(stored, left)
      if (read) return read
      await elsewhere(key, left)
    }
  }

  async function findStored(key: RunKey): Promise<StoredRun> {
    const stored = await store.find(key)
    if (!stored || stored.operation === 'tool_execute') throw new ServiceError('not_found', `There is no run ${key.requestId}.`)
    return stored
  }

  /** An unended run that this process does not have, nor takes up just now, as it is told where it goes on. */
  function readElsewhere(run: StoredRun, left: AbortSignal): OpenRun | undefined {
    refuseStopping()
    const isOurs = run.holder === deps.holder || openings.has(runKeyText(run))
    return isOurs ? undefined : remote.open(run, left)
  }

  /** Another process has the run, or nobody yet: it is looked for again in a while. */
  async function elsewhere(key: RunKey, left: AbortSignal): Promise<void> {
    refuseStopping()
    await live.arrival(key, lookAgainMs, left)
    if (left.aborted) throw new ServiceError('cancelled', 'The caller has gone.')
  }

  function refuseStopping(): void {
    if (isStopping) throw serviceStopping()
  }

  async function cancel(key: RunKey): Promise<void> {
    let isAsked = false
    for (const until = now() + maxCancelMs; now() < until;) {
      const running = live.find(key)
      if (running) {
        running.stop('cancelled')
        await running.ended
        // The end of the run may have been on its way already: the store says which of the two it became.
        isAsked ||= running.stopCause === 'cancelled'
      }
      const stored = await findStored(key)
      if (isAsked && stored.status === 'cancelled') return
      if (stored.endedAt !== undefined) throw hasEnded(key)
      if (stored.status === 'interrupted' || isNobodys(stored)) {
        if (await (isNobodys(stored) ? asyncRuns.cancel(stored) : standing.end(stored))) return
        continue
      }
      isAsked = true
      if (await takeLost(stored)) continue
      const heard = live.arrival(key, lookAgainMs, new AbortController().signal)
      bus.publish('cancel', key)
      await heard
    }
    throw new ServiceError('overloaded', `Run ${key.requestId} belongs to another process.`, { retryAfter: 5 })
  }

  /** Left by a process that died: it is ours to end. */
  function takeLost(run: StoredRun): Promise<LiveRun | undefined> {
    // One of this process that it does not have is one that a fault made it forget.
    const from = run.holder === deps.holder ? run : { ...run, graceMs: 0 }
    return alone(run, async () => live.find(run) ?? adoption.takeOver(run, { from }))
  }

  function load(): Pick<Load, 'known' | 'begun'> {
    return { known: live.count(), begun: () => live.all().filter(isBegun).length }
  }

  function running(): Owner[] {
    return live
      .all()
      .filter(isBegun)
      .map(({ key }) => key)
  }

  function counts(): { pending: number; running: number } {
    const unended = live.all().filter((run) => !run.log.ended)
    const running = unended.filter((run) => run.startedAt !== undefined).length
    return { pending: unended.length - running, running }
  }

  /** Runs of a caller that this process has or is about to have. */
  function unendedOf({ tenant, owner }: Caller): number {
    const isTheirs = (key: RunKey) => key.tenant === tenant && key.owner === owner
    const runs = live.all().filter((run) => isTheirs(run.key) && isBegun(run))
    const opening = [...openings.values()].filter(({ key }) => isTheirs(key) && !live.find(key))
    return runs.length + opening.length
  }

  function runsOf({ tenant, owner }: Owner, sessionId: string): LiveRun[] {
    return live.all().filter((run) => run.sessionId === sessionId && run.key.tenant === tenant && run.key.owner === owner)
  }

  async function cancelAll(who: Owner, sessionId: string): Promise<void> {
    const runs = runsOf(who, sessionId)
    for (const run of runs) run.stop('cancelled')
    const done = new AbortController()
    const all = Promise.all([...runs.map((run) => run.ended), cancelElsewhere(who, sessionId, done.signal)]).finally(() => done.abort())
    await Promise.race([all, deps.sleep(maxEndMs, done.signal).catch(() => undefined)])
    done.abort()
  }

  /** Has other processes cancel what they run of a session. */
  async function cancelElsewhere(who: Owner, sessionId: string, enough: AbortSignal): Promise<void> {
    while (!enough.aborted) {
      const others = (await store.unendedIn(who, sessionId)).filter((key) => !live.find(key))
      if (others.length === 0) return
      const heard = others.map((key) => live.arrival(key, lookAgainMs, enough))
      for (const key of others) bus.publish('cancel', key)
      await Promise.all(heard)
    }
  }

  async function drain(ms: number): Promise<void> {
    isStopping = true
    adoption.stop()
    const runs = live.all()
    await Promise.all([live.drain(ms).then(() => readers?.close()), remote.drain(ms)])
    await asyncRuns.handBack(runs.filter((run) => run.isAsync && run.stopCause === 'given_up'))
  }

  const stopHere = (who: Owner, sessionId: string) => stopLost(store, runsOf(who, sessionId))
  bus.subscribe('deleted', (gone) => void stopHere(gone, gone.sessionId))

  async function stopGone({ tenant, owner }: Owner, sessionId: string): Promise<void> {
    bus.publish('deleted', { tenant, owner, sessionId })
    await stopHere({ tenant, owner }, sessionId)
  }

  const { decide, expire } = standing

  return {
    open,
    accept,
    work: asyncRuns.work,
    follow,
    decide,
    expire,
    cancel,
    cancelAll,
    stopGone,
    load,
    running,
    counts,
    adopt: adoption.adopt,
    drain,
  }
}

interface Opener {
  left: AbortSignal
  onSession: OnSession | undefined
}

interface Opening {
  key: RunKey
  working: Promise<unknown>
}

function withAttachments(request: ChatRequest, { images, contextFiles }: CheckedAttachments): ChatRequest {
  return { ...request, ...(images.length > 0 ? { images } : {}), ...(contextFiles.length > 0 ? { contextFiles } : {}) }
}

function isBegun({ log }: LiveRun): boolean {
  return !log.ended
}

/** How often a run that this process does not have is looked for: news of it may get lost. */
const lookAgainMs = 500
/** Longer than it takes until a process that was killed is known to be lost. */
const maxCancelMs = 20_000
/** What was cancelled hears it at once; a tool that does not is not waited for. */
const maxEndMs = 5000

function hasEnded(key: RunKey): ServiceError {
  return new ServiceError('run_ended', `Run ${key.requestId} has ended.`)
}

/** A request id stands for one request: the same operation with the same body in the same session. */
function refuseOther(run: Pick<LiveRun, 'operation' | 'bodyHash' | 'sessionId'>, chat: NewChat): void {
  const isSame = run.operation === chat.operation && run.bodyHash === chat.bodyHash
  if (isSame && (chat.sessionId === undefined || chat.sessionId === run.sessionId)) return
  throw new ServiceError('request_id_reused', `The request id ${chat.requestId} was used for another request.`)
}
