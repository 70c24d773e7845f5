import { pino, type Logger } from 'pino'
import type { Settings } from '../settings/settings.ts'
import type { Terminal } from './terminal.ts'

/** Fields redacted from log entries, in case code logs request headers by mistake. */
const redact = ['["x-service-access"]', '.authorization', '["x-api-key"]'].flatMap((field) => [`req.headers${field}`, `headers${field}`])

interface LoggerOptions {
  isQuiet: boolean
  /** Present if several processes write to the same output. */
  worker?: { id: number; pid: number | undefined }
}

const singleWriter = { minLength: 4096 }
/** POSIX: a write of up to PIPE_BUF (4096) bytes to a pipe is atomic, so lines of several processes do not mix. */
const sharedOutput = { minLength: 2048, maxWrite: 4096 }

/**
 * The destination measures all lines that it holds whenever a line is added. Bytes are measured for nothing, while a text is copied: a line takes
 * 2 KB of memory, not 10. The type of the hook allows no bytes, but the destination does.
 */
const toBytes = (line: string) => Buffer.from(line) as unknown as string

/** Logs JSON lines, or readable lines on a terminal. */
export async function createLogger(settings: Settings, out: Terminal['stdout'], { isQuiet, worker }: LoggerOptions): Promise<Logger> {
  const format = settings.logFormat ?? (out.isTTY ? 'pretty' : 'json')
  const base = worker ? { worker: worker.id, pid: worker.pid } : null
  const options = { level: isQuiet ? 'silent' : settings.logLevel, redact, base }
  if (format === 'json') {
    const output = { dest: 1, sync: false, contentMode: 'buffer', ...(worker ? sharedOutput : singleWriter), periodicFlush: 250 } as const
    return pino({ ...options, hooks: { streamWrite: toBytes } }, pino.destination(output))
  }
  // Imported on demand: a service in production never loads `pino-pretty`.
  const { default: pretty } = await import('pino-pretty')
  return pino(options, pretty({ destination: out, colorize: true, ignore: 'hostname,pid', translateTime: 'HH:MM:ss.l' }))
}
