import { Type } from 'typebox'

/** Schemas of callers, roles and keys. */

const Permissions = Type.Array(Type.String(), { description: 'Permissions, such as `chat` and `sessions.read`.' })

/** The caller of a request, as its key states it. */
export const Caller = Type.Object(
  {
    sub: Type.String({ description: 'The name of the caller within the issuer.' }),
    tenant: Type.String(),
    issuer: Type.String({ description: '`agent-core` for a key of this service, otherwise the identity provider.' }),
    roles: Type.Array(Type.String()),
    permissions: Permissions,
    expires_at: Type.String({ format: 'date-time', description: 'The expiry of the key.' }),
  },
  {
    description: 'The caller of the request, and what the key permits.',
    example: {
      sub: 'ann',
      tenant: 'default',
      issuer: 'agent-core',
      roles: ['viewer'],
      permissions: ['sessions.read', 'runs.read'],
      expires_at: '2027-01-01T00:00:00.000Z',
    },
  },
)

export const Role = Type.Object(
  { name: Type.String(), permissions: Permissions },
  { description: 'A role of keys.', example: { name: 'auditor', permissions: ['runs.read', 'observability.read'] } },
)
