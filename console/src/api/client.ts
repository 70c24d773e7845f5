import { createChat } from '../../../client/src/chat.ts'
import { createRuns } from '../../../client/src/resources/runs.ts'
import { createTransport } from '../../../client/src/transport.ts'
import type { ClientOptions } from '../../../client/src/index.ts'
import { serviceAddress } from './address.ts'
import { serviceFetch } from './service-fetch.ts'

export type { Chunk, PathOf, Reply, RequestOptions, Schema, StepProgress } from '../../../client/src/index.ts'

const options: ClientOptions = { baseUrl: serviceAddress, fetch: serviceFetch }
const transport = createTransport(options)

/** The typed client of the service, with the console's session: the parts that the first screen needs. */
export const client = { ...transport, ...createChat(transport, options), runs: createRuns(transport, options) }
