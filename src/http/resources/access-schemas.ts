import { Type } from 'typebox'
import { named } from '../openapi/named.ts'

/** Schemas of callers, roles and keys. */

const Permissions = Type.Array(Type.String(), { description: 'Permissions, such as `chat` and `sessions.read`.' })

/** The caller of a request, as its key states it. */
export const Caller = named(
  'Caller',
  Type.Object(
    {
      sub: Type.String({ description: 'The name of the caller within the issuer.' }),
      tenant: Type.String(),
      issuer: Type.String({ description: '`agent-core` for a key of this service, otherwise the identity provider.' }),
      roles: Type.Array(Type.String()),
      permissions: Permissions,
      expires_at: Type.String({ format: 'date-time', description: 'The expiry of the key.' }),
      csrf_token: Type.Optional(
        Type.String({ description: 'Only for a session of the console: the value for `x-csrf-token`, which every change needs.' }),
      ),
    },
    {
      description: 'The caller of the request, and what the key permits.',
    },
  ),
)

const dateTime = { format: 'date-time' }
const nullableTime = (description: string) => Type.Union([Type.String(dateTime), Type.Null()], { description })

const keyFields = {
  jti: Type.String({ description: 'The id of the key.' }),
  sub: Type.String({ description: 'The caller that the key stands for.' }),
  roles: Type.Array(Type.String()),
  created_at: Type.String(dateTime),
  expires_at: Type.String(dateTime),
  revoked_at: nullableTime('Null for a key that was not revoked.'),
  last_used_at: nullableTime('Exact to a minute. Null for a key that was never used.'),
  created_by: Type.Union([Type.String(), Type.Null()], {
    description: 'The caller that created the key over HTTP, `<issuer> <sub>`. Null for other keys.',
  }),
}

/** A key of the caller's tenant, without the key itself. */
export const AccessKey = named('AccessKey', Type.Object(keyFields, { description: 'An access key of the tenant, without the secret.' }))

/** A new key: the only reply with the key itself. */
export const CreatedAccessKey = named(
  'CreatedAccessKey',
  Type.Object(
    { ...keyFields, key: Type.String({ description: 'The key itself, for the header `x-service-access`. It is shown only here.' }) },
    { description: 'A new access key.' },
  ),
)

export const Role = named('Role', Type.Object({ name: Type.String(), permissions: Permissions }, { description: 'A role of keys.' }))

/** How users may sign in at the console. */
export const SignInOptions = named(
  'SignInOptions',
  Type.Object(
    {
      identity_provider: Type.Union([
        Type.Object({
          authorize_url: Type.String({
            description:
              'Where the code flow begins. May have a query; the page adds `response_type=code`, `client_id`, `redirect_uri`, `scope`, `state`, `code_challenge` and `code_challenge_method=S256`.',
          }),
          client_id: Type.String(),
          scope: Type.String(),
        }),
        Type.Null(),
      ]),
      is_provider_away: Type.Boolean({ description: 'True when the identity provider cannot be reached at the moment.' }),
    },
    {
      description: 'How users may sign in at the console. A key or a code is always possible.',
    },
  ),
)
