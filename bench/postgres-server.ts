import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { readFile, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { EmbeddedPostgres } from '../test/fixtures/embedded-postgres.ts'
import pg from 'pg'
import { msPerTick } from './processes.ts'
import { freePort } from './service.ts'

/** Postgres server for a scenario. The data is on a real disk, and every commit is synced to disk. */
export interface BenchPostgres {
  /** Returns the URL of a new, empty database. */
  createDatabase(): Promise<string>
  /** Processor time of all server processes so far, in milliseconds. */
  cpuMs(): number
  stop(): Promise<void>
}

/** Settings of a small dedicated server. All other settings are the defaults of Postgres. */
const flags = ['shared_buffers=512MB', 'max_wal_size=8GB', 'maintenance_work_mem=512MB', 'max_connections=200', 'unix_socket_directories=']

/** Starts Postgres. `core` pins all server processes; `extraSettings` are added to `flags`. */
export async function startPostgres(core: string | undefined, extraSettings: readonly string[] = []): Promise<BenchPostgres> {
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
    postgresFlags: ['-h', '127.0.0.1', ...[...flags, ...extraSettings].flatMap((flag) => ['-c', flag])],
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
  if (core !== undefined) for (const processId of [pid, ...childrenOf(pid)]) spawnSync('taskset', ['-acp', core, String(processId)])
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
    // The time of exited processes is part of the parent's.
    cpuMs: () => [pid, ...childrenOf(pid)].reduce((sum, processId) => sum + ticksOf(processId, processId === pid) * msPerTick, 0),
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
  const ticks = (index: number) => Number(fields[index] ?? 0)
  return ticks(11) + ticks(12) + (withEnded ? ticks(13) + ticks(14) : 0)
}

function childrenOf(pid: number): number[] {
  const isChild = (name: string) => /^\d+$/.test(name) && statOf(Number(name))[1] === String(pid)
  return readdirSync('/proc').filter(isChild).map(Number)
}
