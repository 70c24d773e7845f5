import { createClient } from '../../../client/src/index.ts'
import { serviceAddress } from './address.ts'
import { serviceFetch } from './service-fetch.ts'

export type { Chunk, PathOf, Reply, RequestOptions, Schema } from '../../../client/src/index.ts'

/** The typed client of the service, with the console's session. */
export const client = createClient({ baseUrl: serviceAddress, fetch: serviceFetch })
