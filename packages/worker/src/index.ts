export { channelWorker, runChannelWorker } from './run-channel-worker.ts'
export { createRunner, type RunnerDeps } from './runner.ts'
export { createTransports, type Transports } from './transports.ts'
