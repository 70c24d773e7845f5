import type { Kysely } from 'kysely'
import type { Image } from '../../agent/messages.ts'
import { firstQuestionFile, firstResultImage, imageKey } from '../../runs/attachments/result-images.ts'
import { FenceLost, type MediaPlace, type RunStore } from '../../runs/run-store.ts'
import { query, type Database, statement, type Param } from '../database.ts'
import type { Tables } from '../tables.ts'
import { runRetry, type RunStatements } from './statements.ts'

interface ImageValues {
  tenant: string
  session: string
  requestId: string
  n: number
  mediaType: string
  data: string
}

/** The part of `RunStore` for images and files. */
export function runMedia(
  { db, forTenant }: Database,
  { holdRun }: RunStatements,
): Pick<RunStore, 'images' | 'mediaBytes' | 'keepResultImages'> {
  const media = mediaStatements(db)
  return {
    async images(tenant, session, requestIds) {
      const { rows } = await query(forTenant(tenant).read, imagesOf(db, tenant, session, requestIds))
      const imagesByRun = new Map<string, Image[]>()
      for (const { request_id, media_type: mediaType, data } of rows) {
        imagesByRun.set(request_id, [...(imagesByRun.get(request_id) ?? []), { mediaType, data }])
      }
      return imagesByRun
    },

    async mediaBytes(tenant, session, places) {
      if (places.length === 0) return new Map()
      const { rows } = await query(forTenant(tenant).read, mediaAt(db, tenant, session, places))
      return new Map(rows.map(({ requestId, n, data }) => [imageKey({ requestId, n }), data]))
    },

    keepResultImages: (key, fence, session, images) =>
      forTenant(key.tenant).unit(async (connection) => {
        if ((await holdRun(connection, { ...key, fence })).rows.length === 0) throw new FenceLost(key)
        const { tenant, requestId } = key
        for (const { n, mediaType, data } of images) await media.replace(connection, { tenant, session, requestId, n, mediaType, data })
      }, runRetry),
  }
}

/** The statements of images and files, used by chats with such media only. */
export function mediaStatements(database: Kysely<Tables>) {
  return {
    insert: statement(database, (db, param: Param<ImageValues>) =>
      db.insertInto('media').values({
        tenant: param('tenant'),
        session: param('session'),
        request_id: param('requestId'),
        n: param('n'),
        media_type: param('mediaType'),
        data: param('data'),
      }),
    ),

    /** Replaces an image: a dead process may have stored another image with this number, to which no message refers. */
    replace: statement(database, (db, param: Param<ImageValues>) =>
      db
        .insertInto('media')
        .values({
          tenant: param('tenant'),
          session: param('session'),
          request_id: param('requestId'),
          n: param('n'),
          media_type: param('mediaType'),
          data: param('data'),
        })
        .onConflict((conflict) =>
          conflict.columns(['session', 'request_id', 'n']).doUpdateSet(({ ref }) => ({
            media_type: ref('excluded.media_type'),
            data: ref('excluded.data'),
          })),
        ),
    ),

    deleteResultImages: statement(database, (db, param: Param<Pick<ImageValues, 'tenant' | 'session' | 'requestId'>>) =>
      db
        .deleteFrom('media')
        .where('tenant', '=', param('tenant'))
        .where('session', '=', param('session'))
        .where('request_id', '=', param('requestId'))
        .where('n', '>=', firstResultImage),
    ),

    deleteOfRun: statement(database, (db, param: Param<Pick<ImageValues, 'tenant' | 'session' | 'requestId'>>) =>
      db
        .deleteFrom('media')
        .where('tenant', '=', param('tenant'))
        .where('session', '=', param('session'))
        .where('request_id', '=', param('requestId')),
    ),
  }
}

function imagesOf(db: Kysely<Tables>, tenant: string, session: string, requestIds: readonly string[]) {
  return db
    .selectFrom('media')
    .select(['request_id', 'media_type', 'data'])
    .where('tenant', '=', tenant)
    .where('session', '=', session)
    .where('request_id', 'in', requestIds)
    .where('n', '<', firstQuestionFile)
    .orderBy('request_id')
    .orderBy('n')
}

/** Selects a superset of the places when several runs have media with the same numbers. */
function mediaAt(db: Kysely<Tables>, tenant: string, session: string, places: readonly MediaPlace[]) {
  return db
    .selectFrom('media')
    .select(['request_id as requestId', 'n', 'data'])
    .where('tenant', '=', tenant)
    .where('session', '=', session)
    .where('request_id', 'in', [...new Set(places.map(({ requestId }) => requestId))])
    .where('n', 'in', [...new Set(places.map(({ n }) => n))])
}
