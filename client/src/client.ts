import { createChat, type Chat } from './chat.ts'
import type { RetryOptions } from './retry.ts'
import { createRuns, type Runs } from './runs.ts'
import { createTransport, type Transport, type TransportOptions } from './transport.ts'

export interface ClientOptions extends TransportOptions, RetryOptions {}

/** Calls a service. */
export interface Client extends Transport, Chat {
  runs: Runs
}

/** Makes a client of the service at `baseUrl`. Nothing is sent until a method is called. */
export function createClient(options: ClientOptions = {}): Client {
  const transport = createTransport(options)
  return { ...transport, ...createChat(transport, options), runs: createRuns(transport, options) }
}
