import { createServer } from 'node:http'

// Baseline of the scenario `start`: the smallest server that Node can start. JavaScript, as `dist/` is, so that no types are stripped.
createServer((_request, response) => response.end('{}')).listen(Number(process.env.PORT), '127.0.0.1')
