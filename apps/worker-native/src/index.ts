export { serveDemo } from './demo.ts'
export { type GatewayOptions, nativeGateway } from './gateway.ts'
