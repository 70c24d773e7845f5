import type { Caller } from '../../access/rate-limits.ts'
import type { CurrentAgent } from '../../configuration/agent.ts'
import type { Payer } from '../../budgets/budget.ts'
import type { Budgets } from '../../budgets/budgets.ts'
import { ServiceError } from '../../errors.ts'
import type { ClientWaits } from '../execution/client-waits.ts'
import type { CallerSchemas, ClientTools } from '../execution/ports.ts'
import type { NewChat, OpenTarget } from '../new-chat.ts'
import type { OpenRun } from '../open-run.ts'
import type { Adoption } from '../ownership/adopt.ts'
import { LiveRun } from '../ownership/live-run.ts'
import type { LiveRuns } from '../ownership/live-runs.ts'
import { locationOf, type RunLocation, type Readers, type StoredLocation } from '../ownership/locate.ts'
import type { RunMutex, RunRegistry } from '../ownership/run-registry.ts'
import type { RunStore, NewRun, StoredRun } from '../run-store.ts'
import type { Admission, Intake } from './admission.ts'
import { checkHints, checkSchemas } from './checks.ts'
import { reachState } from '../../states.ts'
import type { Attachments, CheckedAttachments } from '../attachments/attachments.ts'
import { contextOpening, questionOf } from '../../files/context-text.ts'
import type { ChatMessage, ChatRequest, RunKey } from '../run.ts'
import { toNewMessages } from '../window/window.ts'

export type OnSession = (sessionId: string) => void

/**
 * Starts a chat, or joins, continues or replays the run with the same request id. Resolves when the run has its session. `disconnected` is
 * aborted when the caller disconnects; a run without readers is stopped after a grace. `onSession` is called as soon as the session of the run
 * is known, before the turn of the run.
 */
export type Open = (caller: Caller, chat: NewChat, disconnected: AbortSignal, onSession?: OnSession) => Promise<OpenRun>

interface OpenDependencies {
  store: Pick<RunStore, 'findRequest' | 'begin'>
  agent: CurrentAgent
  admission: Pick<Admission, 'refuseRun'>
  intake: Pick<Intake, 'assertOpen'>
  mutex: RunMutex
  registry: RunRegistry
  live: LiveRuns
  readers: Readers
  adoption: Pick<Adoption, 'takeOver'>
  toNewRun: ToNewRun
  clientTools: ClientTools
  clientWaits: Pick<ClientWaits, 'refuse'>
  budgets: Pick<Budgets, 'refusalOf'>
  schemas: CallerSchemas
  /** Id of the local process. */
  holder: string
}

export function createOpen(dependencies: OpenDependencies): Open {
  const { agent, mutex, live, readers, adoption } = dependencies
  const findOrBegin = createFindOrBegin(dependencies)

  return async (caller, chat, disconnected, onSession) => {
    const current = agent()
    const release = current.hold()
    try {
      const settling = current.tools.settling()
      if (settling) await chat.times.during('queue', () => settling)
      const key = { tenant: caller.tenant, owner: caller.owner, requestId: chat.requestId }
      let sessionId = chat.sessionId ?? chat.newSessionId
      for (;;) {
        const location = await findOrBegin(caller, chat, { key, sessionId, agent: current, roles: caller.roles })
        refuseOther(location.run, chat)
        // The first request with the same id may have another session, where no request named a session.
        sessionId = location.run.sessionId
        onSession?.(sessionId)
        const opened = await openAt(location, key, disconnected)
        if (opened) return opened
      }
    } finally {
      release()
    }
  }

  /** Undefined where the run has to be located again: a run that is being stopped is continued when its stop is over. */
  function openAt(location: RunLocation, key: RunKey, disconnected: AbortSignal): Promise<OpenRun | undefined> {
    if (location.kind === 'here') {
      const { stopCause, log, ended } = location.run
      const isAbandoned = (stopCause === 'disconnected' || stopCause === 'orphaned') && !log.ended
      if (!isAbandoned) return live.join(location.run, disconnected)
      reachState('request-during-stop')
      return ended.then(() => undefined)
    }
    reportStored(location)
    if (location.kind === 'ended' && location.run.continuable) return continueRun(location.run, key, disconnected)
    return readers.openAt(location, disconnected)
  }

  async function continueRun(run: StoredRun, key: RunKey, disconnected: AbortSignal): Promise<OpenRun | undefined> {
    const continued = await mutex.run(key, () => adoption.takeOver(run))
    reachState(continued ? 'request-continues-run' : 'request-continuation-taken')
    return continued && live.join(continued, disconnected)
  }
}

/** Publishes in which rare state a request has found its run. */
function reportStored({ kind }: StoredLocation): void {
  if (kind === 'ended') reachState('request-of-ended-run')
  if (kind === 'interrupted') reachState('request-of-interrupted-run')
  if (kind === 'remote' || kind === 'unclaimed') reachState('request-of-remote-run')
}

type FindOrBegin = (caller: Caller, chat: NewChat, target: OpenTarget) => Promise<RunLocation>

function createFindOrBegin(dependencies: OpenDependencies): FindOrBegin {
  const { store, admission, intake, mutex, registry, live, toNewRun, clientWaits, budgets, holder } = dependencies

  return async (caller, chat, target) => {
    const { key, agent } = target
    for (;;) {
      const run = registry.find(key)
      if (run) {
        reachState('request-of-live-run')
        return { kind: 'here', run }
      }
      intake.assertOpen()
      if (!mutex.isHeld(key)) break
      reachState('request-during-begin')
      await mutex.whenFree(key)
    }
    const { filters } = chat.request
    if (filters.length > 0) checkHints(filters, agent.tools, chat.at)
    return mutex.run(key, () => begin(caller, chat, target))
  }

  /** Stores and launches a run, or locates the earlier run with the same request id. */
  async function begin(caller: Caller, chat: NewChat, target: OpenTarget): Promise<RunLocation> {
    const load = {
      total: registry.count(),
      countUnended: () => registry.unended().length,
      countOfCaller: () => unendedOf(caller, dependencies),
    }
    const admitting = admission.refuseRun(caller, load)
    // A chat waits here only in the rare case of a question to the store.
    const overload = admitting instanceof Promise ? await chat.times.during('queue', () => admitting) : admitting
    const { agent } = target
    const asking = agent.config.budgets && !overload && budgets.refusalOf(payerOf(chat, target), agent, questionIn(chat))
    const refusal = overload ?? (asking ? await chat.times.during('store', () => asking) : undefined)
    // A repeat is never refused, and not checked again, because files and tools may have changed since.
    const { responseSchema, clientTools } = chat.request
    const hasSchemas = Boolean(responseSchema ?? clientTools)
    const earlier =
      (refusal ?? chat.attachments ?? (hasSchemas || chat.rejectsBusy)) &&
      (await chat.times.during('store', () => store.findRequest(target.key)))
    if (earlier) return locationOf(earlier, holder)
    if (refusal) throw refusal
    if (hasSchemas) await checkSchemas(chat, { ...dependencies, own: target.agent.tools, caller: target.key })
    if (clientTools) await clientWaits.refuse(target.key, target.agent)
    let launched: LiveRun | undefined
    const making = toNewRun(chat, target)
    const { run, newRun } = making instanceof Promise ? await making : making
    const storing = chat.times.during('store', () =>
      store.begin(newRun, (turn) => {
        launched = live.launchCommitted(run, turn, storing)
      }),
    )
    const stored = await storing
    switch (stored.kind) {
      case 'known':
        return locationOf(stored.run, holder)
      case 'accepted':
        throw new Error('A run without an event was accepted as one.')
      case 'waiting':
        return { kind: 'here', run: live.launch(run, undefined) }
      case 'running':
        return { kind: 'here', run: launched ?? live.launch(run, stored.turn) }
    }
  }
}

/** Number of runs of a caller in the local process, including runs that are being stored. */
function unendedOf({ tenant, owner }: Caller, { registry, mutex }: Pick<OpenDependencies, 'registry' | 'mutex'>): number {
  const unended = registry.unended().filter(({ key }) => key.tenant === tenant && key.owner === owner)
  const beginning = mutex.heldKeys().filter((key) => key.tenant === tenant && key.owner === owner && !registry.find(key))
  return unended.length + beginning.length
}

/** Who pays for a new run. The key of its session is not known yet: a budget of the session is asked by the run's first call. */
export function payerOf({ operation }: Pick<NewChat, 'operation'>, { key, roles }: OpenTarget): Payer {
  return { ...key, roles, operation }
}

export function questionIn({ request }: NewChat): string {
  return request.messages.at(-1)?.content ?? ''
}

/** A request id stands for one request: the same operation with the same body in the same session. */
function refuseOther(run: Pick<LiveRun, 'operation' | 'bodyHash' | 'sessionId'>, chat: NewChat): void {
  const isSame = run.operation === chat.operation && run.bodyHash === chat.bodyHash
  if (isSame && (chat.sessionId === undefined || chat.sessionId === run.sessionId)) return
  throw new ServiceError('request_id_reused', `The request id ${chat.requestId} was used for another request.`)
}

interface NewRunDependencies {
  attachments: Attachments
  budgets: Pick<Budgets, 'reserveAhead'>
  intake: Pick<Intake, 'nextArrival'>
  /** Id of the local process. */
  holder: string
  now(): number
  newId(): string
}

/** `run` is to be launched where the store has begun the run. */
interface MadeRun {
  run: LiveRun
  newRun: NewRun
}

/** Makes the run that is to be stored. A promise only for a chat with attachments, which are checked first. */
export type ToNewRun = (chat: NewChat, target: OpenTarget) => MadeRun | Promise<MadeRun>

export function createToNewRun({ attachments, budgets, intake, holder, now, newId }: NewRunDependencies): ToNewRun {
  return (chat, target) => {
    if (!chat.attachments) return toRun(chat, target)
    const scope = { caller: target.key, agent: target.agent, filters: chat.request.filters }
    return attachments.check(chat.attachments, scope, chat.at).then((checked) => toRun(chat, target, checked))
  }

  function toRun(chat: NewChat, target: OpenTarget, checked?: CheckedAttachments): MadeRun {
    const { key, sessionId, agent, event, roles } = target
    // The schema of agent.yaml becomes a part of the request: a change of the configuration does not change the answer of a run.
    const schema = chat.request.responseSchema === undefined ? agent.config.response_schema : undefined
    const requested = schema ? { ...chat.request, responseSchema: schema } : chat.request
    const attached = checked ? withAttachments(requested, checked) : requested
    const request = agent.config.budgets && roles ? { ...attached, roles } : attached
    const { operation, bodyHash, onDisconnect, times } = chat
    const run = new LiveRun({ key, sessionId, operation, bodyHash, request, agent, onDisconnect, fence: 1, times })
    const newRun: NewRun = {
      tenant: key.tenant,
      owner: key.owner,
      requestId: key.requestId,
      sessionId,
      operation,
      bodyHash,
      request,
      onDisconnect,
      sessionKey: newId(),
      shortName: shortName(request.messages),
      holder,
      queueOrder: intake.nextArrival(),
      agent: agent.config.name,
      configVersion: agent.version,
      input: run.input.slice(0, maxInputCharacters).toWellFormed(),
      now: now(),
      messages: toNewMessages(request, key.requestId, now()),
      images: checked?.pictures,
      files: checked?.fileBytes,
      event,
      notifications: chat.notifications,
      afterMessages: chat.afterMessages,
      rejectsBusy: chat.rejectsBusy,
      unstored: chat.unstored,
      reservation: agent.config.budgets && !event ? budgets.reserveAhead(payerOf(chat, target), agent) : undefined,
    }
    return { run, newRun }
  }
}

function withAttachments(request: ChatRequest, { images, contextFiles, documents, files }: CheckedAttachments): ChatRequest {
  return {
    ...request,
    ...(images.length > 0 ? { images } : {}),
    ...(contextFiles.length > 0 ? { contextFiles } : {}),
    ...(documents.length > 0 ? { documents } : {}),
    ...(files.length > 0 ? { files } : {}),
  }
}

/** Lists of runs show the start of the question. */
const maxInputCharacters = 200

const maxNameCharacters = 60

/** The name of a session in lists. */
export function shortName(messages: readonly ChatMessage[]): string {
  return nameOf(messages.find((message) => message.role === 'user')?.content ?? '')
}

/** The name of a session: the beginning of its first question, without context files, cut at a word. */
export function nameOf(first: string): string {
  const question = first.startsWith(contextOpening) ? questionOf(first) : first
  // Only the part that may appear in the name is processed.
  const text = (question || first)
    .trimStart()
    .slice(0, maxNameCharacters * 4)
    .replace(/\s+/g, ' ')
    .trim()
  if (text.length <= maxNameCharacters) return text
  // A blank right after the limit ends a word that fits.
  const word = text.lastIndexOf(' ', maxNameCharacters - 1)
  return `${text.slice(0, word > maxNameCharacters / 2 ? word : maxNameCharacters - 1).toWellFormed()}…`
}
