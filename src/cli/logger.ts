import { pino, type Logger } from 'pino'
import type { Settings } from '../settings/settings.ts'
import type { Terminal } from './terminal.ts'

/** Whatever hands a header to the log by mistake: no key gets into it. */
const redact = ['req.headers["x-service-access"]', 'req.headers.authorization', 'headers["x-service-access"]', 'headers.authorization']

interface LoggerOptions {
  isQuiet: boolean
  /** Present where several processes write to the same place. */
  worker?: { id: number; pid: number | undefined }
}

const alone = { minLength: 4096 }
/** POSIX: what is written to a pipe at once is not mixed with what others write up to so many bytes. */
const shared = { minLength: 2048, maxWrite: 4096 }

/** JSON lines, or readable ones on a terminal. */
export async function createLogger(settings: Settings, out: Terminal['stdout'], { isQuiet, worker }: LoggerOptions): Promise<Logger> {
  const format = settings.logFormat ?? (out.isTTY ? 'pretty' : 'json')
  const base = worker ? { worker: worker.id, pid: worker.pid } : null
  const options = { level: isQuiet ? 'silent' : settings.logLevel, redact, base }
  if (format === 'json') return pino(options, pino.destination({ dest: 1, sync: false, ...(worker ? shared : alone), periodicFlush: 250 }))
  // For people alone: a service in production never loads it.
  const { default: pretty } = await import('pino-pretty')
  return pino(options, pretty({ destination: out, colorize: true, ignore: 'hostname,pid', translateTime: 'HH:MM:ss.l' }))
}
