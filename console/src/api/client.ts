import { createClient } from './stand-in.ts'
import { serviceAddress } from './address.ts'
import { serviceFetch } from './service-fetch.ts'

/** The typed client of the service, with the console's session. */
export const client = createClient({ baseUrl: serviceAddress, fetch: serviceFetch })
