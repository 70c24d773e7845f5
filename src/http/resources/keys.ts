import { replies, route, Id, orNull, namedObject, closed, toIso, pageLimit } from '../schemas/shared.ts'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { App } from '../server/app.ts'
import type { AccessKeyRecord } from '../../access/keys/keys.ts'
import type { AccessKeys } from '../../access/keys/access-keys.ts'
import type { Principal } from '../../access/permissions.ts'
import { invalid } from '../../errors.ts'
import { parsePosition, toOffset } from '../../json/offset.ts'
import { principalOf } from '../server/authenticate.ts'

const time = { revoked_at: Type.String({ format: 'date-time' }) }

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
  created_by: orNull(Type.String(), 'The caller that created the key over HTTP, `<issuer> <sub>`. Null for other keys.'),
}

/** A key of the caller's tenant, without the key itself. */
export const AccessKey = namedObject('AccessKey', 'An access key of the tenant, without the secret.', keyFields)

/** A new key: the only reply with the key itself. */
export const CreatedAccessKey = namedObject('CreatedAccessKey', 'A new access key.', {
  ...keyFields,
  key: Type.String({ description: 'The key itself, for the header `x-service-access`. It is shown only here.' }),
})

const Query = Type.Object({
  limit: pageLimit,
  before: Type.Optional(Type.String({ maxLength: 500, description: 'The `offset` of the page before.' })),
})

const List = Type.Object({
  keys: Type.Array(AccessKey),
  offset: Type.String({ description: 'The position after this page, for `before`. Empty for an empty page.' }),
  has_more: Type.Boolean(),
})

const lifetimeText = 'How long the key is valid: a number and a unit (s, m, h or d), such as 30d, up to `KEY_MAX_DAYS`. Default: 30d.'

const Body = closed({
  sub: Type.String({ minLength: 1, maxLength: 256, description: 'The caller that the key stands for.' }),
  roles: Type.Array(Type.String({ maxLength: 256 }), {
    minItems: 1,
    maxItems: 100,
    description: 'Roles of `GET /core/v1/roles`. None may permit more than the key of the request.',
  }),
  expires: Type.Optional(Type.String({ maxLength: 20, description: lifetimeText })),
})

const Revoked = Type.Object({ jti: Type.String(), ...time })

const RevokedKeys = Type.Object({ revoked: Type.Array(Type.String(), { description: 'The ids of the revoked keys.' }), ...time })

const CreatorQuery = Type.Object({
  created_by: Type.String({
    minLength: 1,
    maxLength: 2000,
    description: 'The caller that created the keys, `<issuer> <sub>`, as keys are listed.',
  }),
})

const path = '/core/v1/keys'

const tag = 'Access'

const config = { access: 'keys.manage' } as const

/** Routes of the access keys of the caller's tenant. */
export const keyRoutes = [listRoute, createRoute, revokeByCreatorRoute, revokeRoute] as const

function listRoute(app: App, { keys }: { keys: AccessKeys }): void {
  app.get(
    path,
    route(config, tag, {
      summary: "List the keys of the caller's tenant, newest first",
      description: 'Keys of an identity provider are not listed. Expired keys are listed until `retention.access_keys` has passed.',
      text: 'Use it to find keys that are not used or expire soon. Keys themselves are never shown again.',
      querystring: Query,
      response: replies({ 200: List }, 422),
    }),
    async (request) => {
      const { limit, before } = request.query
      // One key more than asked for tells whether there is a next page.
      const records = await keys.list(principalOf(request), { limit: limit + 1, before: toPosition(before) })
      const page = records.slice(0, limit)
      const last = page.at(-1)
      return { keys: page.map(toView), offset: last ? toOffset([last.createdAt, last.jti]) : '', has_more: records.length > limit }
    },
  )
}

function createRoute(app: App, { keys }: { keys: AccessKeys }): void {
  app.post(
    path,
    route({ ...config, validationShape: 'detail' }, tag, {
      summary: "Create a key in the caller's tenant",
      description: 'The reply is the only one with the key itself. A key with other rights than that of the request is 403.',
      text: 'Use it to give an application or a colleague access. 422: a role is not known. 403: a role permits more than the key of the request.',
      examples: {
        viewer: { summary: 'A key that may read, for 30 days', value: { sub: 'alice', roles: ['viewer'], expires: '30d' } },
      },
      body: Body,
      response: replies({ 201: CreatedAccessKey }, 422),
    }),
    async (request, reply) => {
      const caller = principalOf(request)
      const { key, ...record } = await keys.create(caller, request.body)
      const { jti, sub, roles } = record
      request.log.info({ by: caller.owner, byKey: caller.keyId, tenant: caller.tenant, jti, sub, roles }, 'An access key was created')
      return reply
        .code(201)
        .header('cache-control', 'no-store')
        .send({ ...toView(record), key })
    },
  )
}

function revokeByCreatorRoute(app: App, { keys }: { keys: AccessKeys }): void {
  app.delete(
    path,
    route(config, tag, {
      summary: 'Revoke the keys that a caller created',
      description:
        'Revokes the keys of the tenant that the caller created over HTTP, the keys that were created with these keys, and so on. The keys of the caller itself stay. When one of the keys has other rights than that of the request, none is revoked, and the answer is 403.',
      text: 'Take `created_by` from a key of `GET /core/v1/keys`. A caller that created none: an empty list.',
      parameters: { created_by: 'agent-core ann' },
      querystring: CreatorQuery,
      response: replies({ 200: RevokedKeys }, 422),
    }),
    async (request) => {
      const caller = principalOf(request)
      const { created_by: creator } = request.query
      const { revoked, revokedAt } = await keys.revokeCreatedBy(caller, creator)
      for (const jti of revoked) logRevocation(request, caller, jti)
      return { revoked, revoked_at: toIso(revokedAt) }
    },
  )
}

function revokeRoute(app: App, { keys }: { keys: AccessKeys }): void {
  app.delete(
    `${path}/:jti`,
    route(config, tag, {
      summary: "Revoke a key of the caller's tenant",
      description:
        'All processes refuse the key within 5 seconds, and its sessions of the console end. A second call has the same answer. A key with other rights than that of the request is 403.',
      text: 'Take a `jti` from `GET /core/v1/keys`. A key of another tenant is 404.',
      params: Type.Object({ jti: Id }),
      response: replies({ 200: Revoked }, 404, 422),
    }),
    async (request) => {
      const caller = principalOf(request)
      const { jti, revokedAt, isNew } = await keys.revoke(caller, request.params.jti)
      if (isNew) logRevocation(request, caller, jti)
      return { jti, revoked_at: toIso(revokedAt) }
    },
  )
}

function logRevocation({ log }: FastifyRequest, { owner, keyId, tenant }: Principal, jti: string): void {
  log.info({ by: owner, byKey: keyId, tenant, jti }, 'An access key was revoked')
}

function toPosition(offset: string | undefined): { createdAt: number; jti: string } | undefined {
  if (offset === undefined) return undefined
  const [createdAt, jti, ...rest] = parsePosition(offset) ?? []
  if (!Number.isSafeInteger(createdAt) || typeof jti !== 'string' || rest.length > 0) {
    throw invalid(['query', 'before'], 'must be the offset of a page')
  }
  return { createdAt: Number(createdAt), jti }
}

function toView(record: AccessKeyRecord): Type.Static<typeof AccessKey> {
  const { jti, sub, roles, createdAt, expiresAt, revokedAt, lastUsedAt, creator } = record
  return {
    jti,
    sub,
    roles: [...roles],
    created_at: toIso(createdAt),
    expires_at: toIso(expiresAt),
    revoked_at: revokedAt === undefined ? null : toIso(revokedAt),
    last_used_at: lastUsedAt === undefined ? null : toIso(lastUsedAt),
    created_by: creator?.owner ?? null,
  }
}
