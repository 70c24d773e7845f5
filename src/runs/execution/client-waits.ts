import { callerKey, type Owner } from '../../access/owner.ts'
import { createKeyedMutex } from '../../concurrency/mutex.ts'
import type { Agent } from '../../configuration/agent.ts'
import { ServiceError } from '../../errors.ts'

/** Limits the chats of a caller that wait for the output of client tools: abandoned waits cannot be told from others. */
export interface ClientWaits {
  /** Throws `rate_limited` for a caller with as many waiting chats as `limits.max_client_tool_waits` allows. */
  refuse(caller: Owner, agent: Agent): Promise<void>
  /** Stores one more waiting chat by `store`, or throws as `refuse` does. Chats of a caller that end their turns together are counted one by one. */
  add(caller: Owner, agent: Agent, store: () => Promise<void>): Promise<void>
}

/** `count`: the number of the caller's runs that wait for the output of client tools, in all processes. */
export function createClientWaits(count: (owner: Owner) => Promise<number>): ClientWaits {
  const mutex = createKeyedMutex()

  async function refuse(caller: Owner, { config }: Agent): Promise<void> {
    const { max_client_tool_waits: limit } = config.limits
    if ((await count(caller)) < limit) return
    const message = `${limit} of your chats wait for the output of client tools; no more are taken. Answer or cancel one of them.`
    throw new ServiceError('rate_limited', message, { retryAfter })
  }

  return {
    refuse,
    add: (caller, agent, store) =>
      mutex.run(callerKey(caller), async () => {
        await refuse(caller, agent)
        await store()
      }),
  }
}

/** Seconds until a caller with too many waiting chats may retry. */
const retryAfter = 5
