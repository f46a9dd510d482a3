export { type CourierOptions, courier } from './courier.ts'
