import type { CallOptions, Query, Reply, RequestOptions } from '../operation.ts'
import type { Transport } from '../transport.ts'
import { nextPage, readPages } from './pages.ts'

export type KeyPage = Reply<'GET', '/core/v1/keys'>
export type AccessKey = KeyPage['keys'][number]
export type KeyRequest = RequestOptions<'POST', '/core/v1/keys'>['body']
export type CreatedKey = Reply<'POST', '/core/v1/keys'>

/** Access keys of the caller's tenant. */
export interface Keys {
  /** Lists a page of keys, without the keys themselves. */
  list(query?: Query<'GET', '/core/v1/keys'>, options?: CallOptions): Promise<KeyPage>
  /** Yields all keys, page by page. */
  all(query?: Query<'GET', '/core/v1/keys'>, options?: CallOptions): AsyncGenerator<AccessKey, void>
  /** Creates a key. This reply alone contains the key. */
  create(request: KeyRequest, options?: CallOptions): Promise<CreatedKey>
  /** Revokes a key. A revoked key may be revoked again. */
  revoke(jti: string, options?: CallOptions): Promise<Reply<'DELETE', '/core/v1/keys/{jti}'>>
  /** Revokes the keys that a caller (`<issuer> <sub>`, as in `created_by`) created, with the keys that were created with them. */
  revokeCreatedBy(creator: string, options?: CallOptions): Promise<Reply<'DELETE', '/core/v1/keys'>>
}

export function createKeys(transport: Transport): Keys {
  const list: Keys['list'] = (query, options) => transport.request('GET', '/core/v1/keys', { ...options, query })

  return {
    list,
    all(query, options) {
      const load = (before: string | undefined) => list({ ...query, ...(before === undefined ? {} : { before }) }, options)
      return readPages(load, { elements: ({ keys }) => keys, next: nextPage })
    },
    create: (body, options) => transport.request('POST', '/core/v1/keys', { ...options, body }),
    revoke: (jti, options) => transport.request('DELETE', '/core/v1/keys/{jti}', { ...options, path: { jti } }),
    revokeCreatedBy: (creator, options) => transport.request('DELETE', '/core/v1/keys', { ...options, query: { created_by: creator } }),
  }
}
