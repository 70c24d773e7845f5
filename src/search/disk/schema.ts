import { rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/** Raised with every change of the tables, and of how texts become terms: the index is then made anew. */
const format = 2

const tables = `
  create table documents (number integer primary key, id text not null unique, version text not null, title text not null);
  create table passages (id integer primary key, document integer not null, position integer not null, heading text not null,
    text text not null, data text, hash text not null, length integer not null, vector blob);
  create index passages_document on passages (document);
  create index passages_hash on passages (hash);
  create table terms (id integer primary key, term text not null unique);
  create table postings (term integer not null, block integer not null, entries blob not null, primary key (term, block)) without rowid;
  create table encoder (name text not null);
  pragma user_version = ${format};
`

/** Opens the index, or makes an empty one: an index that cannot be read is a cache that was lost. */
export function openIndexFile(file: string): DatabaseSync {
  try {
    return openCurrent(file)
  } catch {
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true })
    return openCurrent(file)
  }
}

function openCurrent(file: string): DatabaseSync {
  const database = new DatabaseSync(file)
  try {
    // A crash of the machine may lose the last documents, which are then indexed again, but leaves the index consistent.
    database.exec('pragma journal_mode = wal; pragma synchronous = normal; pragma cache_size = -32000')
    const { user_version: version } = database.prepare('pragma user_version').get() as { user_version: number }
    if (version === 0) database.exec(`begin; ${tables} commit`)
    else if (version !== format) throw new Error('The index has another format.')
    return database
  } catch (error) {
    database.close()
    throw error
  }
}
