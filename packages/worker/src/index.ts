export { channelWorker, runChannelWorker } from './run-channel-worker.ts'
