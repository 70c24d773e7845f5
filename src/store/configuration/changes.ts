import { sql } from 'kysely'
import type { Watch } from '../../replicas/bus.ts'
import { query, type Database } from '../database.ts'

/** Data of which each process has a copy in memory. */
const topics = ['configuration', 'secrets'] as const
type Topic = (typeof topics)[number]

export interface Changes extends Record<Topic, Watch> {
  close(): void
}

/** A query for each topic would be most of what an idle process asks the database. */
const everyMs = 2500

/**
 * Watches a shared database with one statement in turn for all topics. A failed statement calls every listener: each reports that its own data cannot be
 * read.
 */
export function watchChanges(database: Database): Changes {
  const { db, all } = database
  const listeners = new Map<() => Promise<void>, { topic: Topic; version: unknown }>()
  let isReading = false

  async function readVersions(): Promise<Record<Topic, unknown>> {
    const versions = db.selectNoFrom([
      sql`(select max(n) from configurations)`.as('configuration'),
      sql`(select md5(string_agg(sealed, ' ' order by name)) from secrets)`.as('secrets'),
    ])
    return (await query(all.read, versions)).rows[0]!
  }

  async function read(): Promise<void> {
    const versions = await readVersions().catch(() => undefined)
    for (const [refresh, listener] of listeners) {
      const version = versions?.[listener.topic]
      if (versions && version === listener.version) continue
      listener.version = version
      // The version is forgotten, so that the next reading calls `refresh` again.
      refresh().catch(() => (listener.version = undefined))
    }
  }

  const timer = setInterval(() => {
    if (isReading) return
    isReading = true
    void read().finally(() => (isReading = false))
  }, everyMs).unref()

  const watch = (topic: Topic): Watch => {
    return (refresh) => {
      listeners.set(refresh, { topic, version: undefined })
      return () => void listeners.delete(refresh)
    }
  }
  return {
    configuration: watch('configuration'),
    secrets: watch('secrets'),
    close: () => clearInterval(timer),
  }
}
