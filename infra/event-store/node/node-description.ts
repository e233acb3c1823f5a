/** The node's description of itself: its methods (ServerFeatures) and its cluster of one (Gossip). */
import { randomUUID } from 'node:crypto';
import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import features from '@eventstore/db-client/generated/serverfeatures_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';

/** The server whose behaviour this node follows; the suffix marks the node in logs. */
const VERSION = '24.6.0-embedded';

const METHODS: readonly (readonly [service: string, method: string, features: readonly string[]])[] = [
  ['event_store.client.streams.streams', 'read', ['position', 'events']],
  ['event_store.client.streams.streams', 'append', []],
  ['event_store.client.streams.streams', 'delete', []],
  ['event_store.client.streams.streams', 'tombstone', []],
  ['event_store.client.streams.streams', 'batchappend', ['deadline_duration']],
  ['event_store.client.gossip.gossip', 'read', []],
  ['event_store.client.server_features.serverfeatures', 'getsupportedmethods', []],
];

/** The methods a client may use. Without `batchappend` the client appends one call at a time. */
export function supportedMethods(batchAppend: boolean): features.SupportedMethods {
  const list = new features.SupportedMethods().setEventStoreServerVersion(VERSION);
  for (const [service, method, names] of METHODS) {
    if (method === 'batchappend' && !batchAppend) continue;
    const entry = new features.SupportedMethod().setServiceName(service).setMethodName(method);
    list.addMethods(entry.setFeaturesList([...names]));
  }
  return list;
}

/** A cluster with one leader at the given address. */
export function clusterOfOne(host: string): (port: number) => gossip.ClusterInfo {
  const instanceId = structuredUuid(randomUUID());
  return (port) => {
    const member = new gossip.MemberInfo()
      .setInstanceId(instanceId)
      .setTimeStamp(`${String(Date.now())}0000`)
      .setState(gossip.MemberInfo.VNodeState.LEADER)
      .setIsAlive(true)
      .setHttpEndPoint(new gossip.EndPoint().setAddress(host).setPort(port));
    const info = new gossip.ClusterInfo();
    info.addMembers(member);
    return info;
  };
}

/** Two signed 64-bit halves, the form of ids on a real server. */
function structuredUuid(text: string): shared.UUID {
  const hex = text.replaceAll('-', '');
  const half = (digits: string): string => String(BigInt.asIntN(64, BigInt(`0x${digits}`)));
  const structured = new shared.UUID.Structured();
  structured.setMostSignificantBits(half(hex.slice(0, 16))).setLeastSignificantBits(half(hex.slice(16)));
  return new shared.UUID().setStructured(structured);
}
