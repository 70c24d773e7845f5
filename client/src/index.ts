/** The public interface of the client. */
export { createClient, type Client, type ClientOptions } from './client.ts'
export { AgentCoreError, type ErrorDetails, type FieldFault } from './error.ts'
export type { Method, PathOf, Reply, RequestOptions, Schema } from './operation.ts'
export type { Exchange } from './transport.ts'
