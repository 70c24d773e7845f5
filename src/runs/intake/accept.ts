import { hash } from 'node:crypto'
import type { Owner } from '../../access/owner.ts'
import type { CurrentAgent } from '../../configuration/agent.ts'
import { invalid, ServiceError } from '../../errors.ts'
import type { Admission } from './admission.ts'
import type { NewChat, OpenTarget } from '../new-chat.ts'
import { checkHints } from './hints.ts'
import type { Jobs } from '../jobs.ts'
import type { Intake } from '../ownership/intake.ts'
import type { RunMutex } from '../ownership/run-mutex.ts'
import type { Accepted, RunStore } from '../run-store.ts'
import type { BeginRun } from './begin-run.ts'

/** What an async chat is, beside a chat: its caller knows it by (`source`, `id`), and is told of its end at `callbackUrl`. */
export interface ChatEvent {
  source: string
  id: string
  callbackUrl: string | undefined
}

interface AcceptanceDependencies {
  store: Pick<RunStore, 'findEvent'>
  jobs: Pick<Jobs, 'wake'>
  agent: CurrentAgent
  admission: Pick<Admission, 'refuseEvent'>
  intake: Pick<Intake, 'assertOpen'>
  mutex: Pick<RunMutex, 'run'>
  beginRun: BeginRun
  /** Why the local process cannot call an address, in words for the caller who named the address; undefined where it can. */
  refusalOf(url: string): Promise<string | undefined>
}

/**
 * Accepts an event: its run is stored when the promise resolves, and starts, in any process, when its session and a worker are free. A
 * repeated event is answered with the ids of the first and runs nothing; `toChat`, which may refuse the event's data, is not called then.
 */
export type Accept = (owner: Owner, event: ChatEvent, toChat: () => NewChat) => Promise<Accepted>

export function createAcceptance(dependencies: AcceptanceDependencies): Accept {
  const { store, jobs, agent, admission, intake, mutex, beginRun, refusalOf } = dependencies

  return async (who, event, toChat) => {
    const named = { key: hash('sha256', JSON.stringify([event.source, event.id])), id: event.id, callbackUrl: event.callbackUrl }
    // Before its data is looked at: what was accepted once is acknowledged again whatever has become of it.
    const earlier = await store.findEvent(who, named.key)
    if (earlier) return earlier
    intake.assertOpen()
    const overload = admission.refuseEvent()
    if (overload) throw overload
    const chat = toChat()
    const current = agent()
    const release = current.hold()
    try {
      await current.tools.settling()
      checkHints(chat.request.filters, current.tools, chat.at)
      const refusal = event.callbackUrl === undefined ? undefined : await refusalOf(event.callbackUrl)
      if (refusal !== undefined) throw invalid([...chat.at, 'callback_url'], refusal)
      const key = { tenant: who.tenant, owner: who.owner, requestId: chat.requestId }
      return await begin(toAsync(chat, event), { key, sessionId: chat.sessionId ?? chat.newSessionId, agent: current, event: named })
    } finally {
      release()
    }
  }

  function begin(chat: NewChat, target: OpenTarget): Promise<Accepted> {
    const { key, sessionId } = target
    return mutex.run(key, async () => {
      const { begun } = await beginRun(chat, target)
      if (begun.kind === 'accepted') return begun.as
      if (begun.kind === 'known')
        throw new ServiceError('request_id_reused', `The request id ${key.requestId} was used for another request.`)
      jobs.wake('run')
      return { requestId: key.requestId, sessionId }
    })
  }
}

/** Nobody waits for it, so nobody can leave it. */
function toAsync(chat: NewChat, { callbackUrl }: ChatEvent): NewChat {
  const request = callbackUrl === undefined ? chat.request : { ...chat.request, hasCallback: true }
  return { ...chat, request, onDisconnect: 'continue' }
}
