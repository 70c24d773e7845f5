import type { Bus } from '../../replicas/bus.ts'
import type { RunMutex, RunRegistry } from '../ownership/run-registry.ts'
import { noRun } from '../ownership/locate.ts'
import type { RunKey } from '../run.ts'
import type { RunStore } from '../run-store.ts'
import { reachState } from '../../states.ts'
import type { NewRunMessage } from './run-messages.ts'

interface SteeringDependencies {
  store: Pick<RunStore, 'addMessage'>
  registry: Pick<RunRegistry, 'find' | 'all'>
  mutex: Pick<RunMutex, 'whenFree'>
  bus: Bus
  now(): number
}

/** Messages to runs that go on. */
export interface Steering {
  /** Stores a message, and then tells the process that executes the run. Resolves to the number of the message in the run. */
  send(key: RunKey, message: Omit<NewRunMessage, 'now'>): Promise<{ position: number }>
}

/** A notification that gets lost costs no message: a message that the run does not deliver begins the next run. */
export function createSteering({ store, registry, mutex, bus, now }: SteeringDependencies): Steering {
  bus.subscribe('message', (key) => void ring(key))
  bus.onGap(() => {
    for (const { inbox } of registry.all()) inbox.isWaiting = true
  })

  /** True where the local process has the run, or has just claimed it. */
  async function ring(key: RunKey): Promise<boolean> {
    await mutex.whenFree(key)
    const run = registry.find(key)
    if (run) run.inbox.isWaiting = true
    return run !== undefined
  }

  async function send(key: RunKey, message: Omit<NewRunMessage, 'now'>): Promise<{ position: number }> {
    const stored = await store.addMessage(key, { ...message, now: now() })
    if (!stored) throw noRun(key)
    const { tenant, owner, requestId } = key
    if (message.mode === 'steer' && !(await ring({ tenant, owner, requestId }))) {
      reachState('message-to-remote-run')
      bus.publish('message', { tenant, owner, requestId })
    }
    return stored
  }

  return { send }
}
