import { hash } from 'node:crypto'
import type { Owner } from '../../access/owner.ts'
import type { CurrentAgent } from '../../configuration/agent.ts'
import { invalid, ServiceError } from '../../errors.ts'
import { serviceStopping } from '../log/outcome.ts'
import type { Admission } from './admission.ts'
import type { NewChat, OpenTarget } from '../new-chat.ts'
import { checkHints } from './hints.ts'
import type { Jobs } from '../jobs.ts'
import type { RunKey } from '../run.ts'
import type { Accepted, Begun, RunStore } from '../run-store.ts'

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
  /** One at a time for each request id. */
  admission: Pick<Admission, 'refuseEvent'>
  alone<T>(key: RunKey, work: () => Promise<T>): Promise<T>
  storeNew(chat: NewChat, target: OpenTarget): Promise<Begun>
  refusalOf(url: string): Promise<string | undefined>
  isStopping(): boolean
}

/** Takes events as runs: `Chats.accept`. */
export function createAcceptance({ store, jobs, agent, admission, alone, storeNew, refusalOf, isStopping }: AcceptanceDependencies) {
  return async (who: Owner, event: ChatEvent, toChat: () => NewChat): Promise<Accepted> => {
    const named = { key: hash('sha256', JSON.stringify([event.source, event.id])), id: event.id, callbackUrl: event.callbackUrl }
    // Before its data is looked at: what was accepted once is acknowledged again whatever has become of it.
    const earlier = await store.findEvent(who, named.key)
    if (earlier) return earlier
    if (isStopping()) throw serviceStopping()
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
    return alone(key, async () => {
      const begun = await storeNew(chat, target)
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
