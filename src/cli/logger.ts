import { pino, type Logger } from 'pino'
import type { Settings } from '../settings.ts'
import type { Terminal } from './terminal.ts'

/** Whatever hands a header to the log by mistake: no key gets into it. */
const redact = ['req.headers["x-service-access"]', 'req.headers.authorization', 'headers["x-service-access"]', 'headers.authorization']

/** JSON lines, or readable ones on a terminal. */
export async function createLogger(settings: Settings, out: Terminal['stdout'], { isQuiet }: { isQuiet: boolean }): Promise<Logger> {
  const format = settings.logFormat ?? (out.isTTY ? 'pretty' : 'json')
  const options = { level: isQuiet ? 'silent' : settings.logLevel, redact, base: null }
  if (format === 'json') return pino(options, pino.destination({ dest: 1, sync: false, minLength: 4096, periodicFlush: 250 }))
  // For people alone: a service in production never loads it.
  const { default: pretty } = await import('pino-pretty')
  return pino(options, pretty({ destination: out, colorize: true, ignore: 'hostname,pid', translateTime: 'HH:MM:ss.l' }))
}
