import type { Kysely } from 'kysely'
import { statement, type Param } from './statement.ts'
import type { Tables } from './tables.ts'

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
    .orderBy('request_id')
    .orderBy('n')
}
