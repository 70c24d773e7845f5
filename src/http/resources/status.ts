import { Type } from 'typebox'
import type { App } from '../server/app.ts'
import { ServiceError } from '../../errors.ts'
import { principalOf } from '../server/authenticate.ts'
import { refusals } from './schemas.ts'
import { ServiceStatus } from './status-schemas.ts'

export interface StatusRouteOptions {
  /** Reads the state of the whole service. Cheap: checks are computed at most every 10 s. */
  status: { read(): Promise<Type.Static<typeof ServiceStatus>> }
  /** The only tenant that may read the status, since it covers all tenants. */
  adminTenant: string
}

/** The health of the whole service, for its operators. */
export function statusRoute(app: App, { status, adminTenant }: StatusRouteOptions): void {
  app.get(
    '/core/v1/status',
    {
      config: { access: 'observability.read' },
      schema: {
        tags: ['Observability'],
        summary: 'Get the health of the whole service',
        description:
          "The checks of the command `doctor`, the running processes and their runs, and the jobs by kind. Needs a key of the administrators' tenant. The answer is at most 10 s old; models are called at most every 5 minutes, and the artifact store every minute.",
        details: () => ({
          description:
            "Use it for a page about the health of an installation: each check that is not `ok` has a message and, where there is one, a remedy. 403: the key is not one of the administrators' tenant (`ADMIN_TENANT`).",
        }),
        response: { 200: ServiceStatus, ...refusals },
      },
    },
    async (request) => {
      if (principalOf(request).tenant !== adminTenant) {
        const rule = "the status of the whole service needs observability.read and a key of the administrators' tenant"
        throw new ServiceError('forbidden', `RBAC: access denied: ${rule}.`)
      }
      return status.read()
    },
  )
}
