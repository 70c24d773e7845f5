import type { Kysely } from 'kysely'
import type { MediaPlace } from '../../runs/run-store.ts'
import { firstQuestionFile, firstResultImage } from '../../runs/attachments/result-images.ts'
import { statement, type Param } from '../statement.ts'
import type { Tables } from '../tables.ts'

interface ImageValues {
  tenant: string
  session: string
  requestId: string
  n: number
  mediaType: string
  data: string
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

export function imagesOf(db: Kysely<Tables>, tenant: string, session: string, requestIds: readonly string[]) {
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
export function mediaAt(db: Kysely<Tables>, tenant: string, session: string, places: readonly MediaPlace[]) {
  return db
    .selectFrom('media')
    .select(['request_id as requestId', 'n', 'data'])
    .where('tenant', '=', tenant)
    .where('session', '=', session)
    .where('request_id', 'in', [...new Set(places.map(({ requestId }) => requestId))])
    .where('n', 'in', [...new Set(places.map(({ n }) => n))])
}
