import { Histogram, type Registry } from '@prometheus-io/client'

/** Takes what a request cost; `route` is the route's pattern, so that there are few of them. */
export type RequestMeter = (method: string, route: string, status: number, seconds: number) => void

const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

export function createRequestMeter(registers: Registry[]): RequestMeter {
  const durations = new Histogram({
    name: 'agent_core_http_request_duration_seconds',
    help: 'HTTP requests until their answer is sent; of a stream, until its end.',
    labelNames: ['method', 'route', 'status'],
    buckets: seconds,
    registers,
  })
  return (method, route, status, took) => durations.observe({ method, route, status }, took)
}
