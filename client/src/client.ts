import { createTransport, type Transport, type TransportOptions } from './transport.ts'

export interface ClientOptions extends TransportOptions {}

/** Calls a service. */
export interface Client extends Transport {}

/** Makes a client of the service at `baseUrl`. */
export function createClient(options: ClientOptions = {}): Client {
  return createTransport(options)
}
