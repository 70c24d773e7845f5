import type { Kysely } from 'kysely'
import type { ToolImage } from '../../agent/messages.ts'
import { firstResultImage } from '../../runs/attachments/result-images.ts'
import { statement, type Param } from '../statement.ts'
import type { Tables } from '../tables.ts'

interface Picture {
  tenant: string
  session: string
  requestId: string
  n: number
  mediaType: string
  data: string
}

/** The statements of pictures. Only chats that have some need them. */
export function mediaStatements(database: Kysely<Tables>) {
  return {
    insert: statement(database, (db, param: Param<Picture>) =>
      db.insertInto('media').values({
        tenant: param('tenant'),
        session: param('session'),
        request_id: param('requestId'),
        n: param('n'),
        media_type: param('mediaType'),
        data: param('data'),
      }),
    ),

    /** A process that died may have kept another picture under the number, which no message names. */
    replace: statement(database, (db, param: Param<Picture>) =>
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

    deleteResultImages: statement(database, (db, param: Param<Pick<Picture, 'tenant' | 'session' | 'requestId'>>) =>
      db
        .deleteFrom('media')
        .where('tenant', '=', param('tenant'))
        .where('session', '=', param('session'))
        .where('request_id', '=', param('requestId'))
        .where('n', '>=', firstResultImage),
    ),

    deleteOfRun: statement(database, (db, param: Param<Pick<Picture, 'tenant' | 'session' | 'requestId'>>) =>
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
    .where('n', '<', firstResultImage)
    .orderBy('request_id')
    .orderBy('n')
}

/** More rows than those asked for where several runs have pictures of the same number. */
export function resultImagesOf(db: Kysely<Tables>, tenant: string, session: string, images: readonly Pick<ToolImage, 'requestId' | 'n'>[]) {
  return db
    .selectFrom('media')
    .select(['request_id as requestId', 'n', 'data'])
    .where('tenant', '=', tenant)
    .where('session', '=', session)
    .where('request_id', 'in', [...new Set(images.map(({ requestId }) => requestId))])
    .where('n', 'in', [...new Set(images.map(({ n }) => n))])
}
