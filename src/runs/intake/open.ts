import type { Caller } from '../../access/rate-limits.ts'
import type { Agent, CurrentAgent } from '../../configuration/agent.ts'
import { ServiceError } from '../../errors.ts'
import { replay } from '../log/replay.ts'
import type { NewChat, OpenTarget } from '../new-chat.ts'
import type { OpenRun } from '../open-run.ts'
import type { Adoption } from '../ownership/adopt.ts'
import type { Intake } from '../ownership/intake.ts'
import type { LiveRun } from '../ownership/live-run.ts'
import type { LiveRuns } from '../ownership/live-runs.ts'
import { locationOf, type RunLocation } from '../ownership/locate.ts'
import type { Readers } from '../ownership/readers.ts'
import type { RunRegistry } from '../ownership/registry.ts'
import type { RunMutex } from '../ownership/run-mutex.ts'
import type { RunStore } from '../run-store.ts'
import type { Admission } from './admission.ts'
import type { BeginRun } from './begin-run.ts'
import { checkHints } from './hints.ts'

export type OnSession = (sessionId: string) => void

/**
 * Starts a chat, or joins, continues or replays the run that has its request id. Resolves when the run has its session. `disconnected` is
 * aborted when the caller disconnects; a run that no reader waits for is stopped after a grace. `onSession` is called as soon as the session
 * of the run is known, which is before the run has its turn.
 */
export type Open = (caller: Caller, chat: NewChat, disconnected: AbortSignal, onSession?: OnSession) => Promise<OpenRun>

interface OpenDependencies {
  store: Pick<RunStore, 'find'>
  agent: CurrentAgent
  admission: Pick<Admission, 'refuseRun'>
  intake: Pick<Intake, 'assertOpen'>
  mutex: RunMutex
  registry: RunRegistry
  live: LiveRuns
  readers: Readers
  adoption: Pick<Adoption, 'takeOver'>
  beginRun: BeginRun
  /** Id of the local process. */
  holder: string
}

export function createOpen(dependencies: OpenDependencies): Open {
  const { store, agent, admission, intake, mutex, registry, live, readers, adoption, beginRun, holder } = dependencies

  return async (caller, chat, disconnected, onSession) => {
    const current = agent()
    const release = current.hold()
    try {
      return await openWith(current, caller, chat, disconnected, onSession)
    } finally {
      release()
    }
  }

  async function openWith(agent: Agent, caller: Caller, chat: NewChat, disconnected: AbortSignal, onSession?: OnSession): Promise<OpenRun> {
    const settling = agent.tools.settling()
    if (settling) await settling
    const key = { tenant: caller.tenant, owner: caller.owner, requestId: chat.requestId }
    let sessionId = chat.sessionId ?? chat.newSessionId
    for (;;) {
      const location = await locateOrBegin(caller, chat, { key, sessionId, agent })
      const { run } = location
      refuseOther(run, chat)
      // The first request with this id may have another session, if neither request named a session.
      sessionId = run.sessionId
      onSession?.(sessionId)
      switch (location.kind) {
        case 'here':
          if (!isAbandoned(location.run)) return live.join(location.run, disconnected)
          // The run continues from the place where it ends.
          await location.run.ended
          break
        case 'ended': {
          if (!location.run.continuable) return replay(location.run)
          const continued = await mutex.run(key, () => adoption.takeOver(location.run))
          if (continued) return live.join(continued, disconnected)
          break
        }
        case 'interrupted':
          return readers.openInterrupted(location.run)
        case 'remote':
        case 'unclaimed':
          return readers.openRemote(location.run, disconnected)
        case 'dropped':
          await readers.waitToLocate(key, disconnected)
      }
    }
  }

  async function locateOrBegin(caller: Caller, chat: NewChat, target: OpenTarget): Promise<RunLocation> {
    const { key, agent } = target
    for (;;) {
      const run = registry.find(key)
      if (run) return { kind: 'here', run }
      intake.assertOpen()
      if (!mutex.isHeld(key)) break
      await mutex.whenFree(key)
    }
    checkHints(chat.request.filters, agent.tools, chat.at)
    return mutex.run(key, () => begin(caller, chat, target))
  }

  /** Stores a run and launches it, or locates the run that has the request id already. */
  async function begin(caller: Caller, chat: NewChat, target: OpenTarget): Promise<RunLocation> {
    const load = { known: registry.count(), begun: () => registry.unended().length, own: () => unendedOf(caller) }
    const admitting = admission.refuseRun(caller, load)
    // The store is asked only in rare cases: usually a chat does not wait here.
    const refusal = admitting instanceof Promise ? await admitting : admitting
    // A repeat is neither refused nor are its attachments checked again: its files may have changed since.
    const earlier = (refusal ?? chat.attachments) && (await store.find(target.key))
    if (earlier) return locationOf(earlier, holder)
    if (refusal) throw refusal
    const { run, begun } = await beginRun(chat, target)
    switch (begun.kind) {
      case 'known':
        return locationOf(begun.run, holder)
      case 'accepted':
        throw new Error('A run without an event was accepted as one.')
      case 'waiting':
        return { kind: 'here', run: live.launch(run, undefined) }
      case 'running':
        return { kind: 'here', run: live.launch(run, begun.turn) }
    }
  }

  /** Runs of a caller that the local process has or is about to have. */
  function unendedOf({ tenant, owner }: Caller): number {
    const unended = registry.unended().filter(({ key }) => key.tenant === tenant && key.owner === owner)
    const beginning = mutex.heldKeys().filter((key) => key.tenant === tenant && key.owner === owner && !registry.find(key))
    return unended.length + beginning.length
  }
}

/** The run is being stopped because no reader waited for it. */
function isAbandoned({ stopCause, log }: LiveRun): boolean {
  return (stopCause === 'disconnected' || stopCause === 'orphaned') && !log.ended
}

/** A request id stands for one request: the same operation with the same body in the same session. */
function refuseOther(run: Pick<LiveRun, 'operation' | 'bodyHash' | 'sessionId'>, chat: NewChat): void {
  const isSame = run.operation === chat.operation && run.bodyHash === chat.bodyHash
  if (isSame && (chat.sessionId === undefined || chat.sessionId === run.sessionId)) return
  throw new ServiceError('request_id_reused', `The request id ${chat.requestId} was used for another request.`)
}
