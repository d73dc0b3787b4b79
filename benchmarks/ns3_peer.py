"""ns-3's Wi-Fi beside our radio: what it is told, and the program that runs it.

ns-3 is no dependency of the project. It runs in a process of its own, in an interpreter that has it and
perhaps nothing else, and which imports this module. What happens while time passes is C++, which cppyy
compiles: a call to Python for each frame would take longer than the frame.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bypass.models.radio.radio import RadioModel

SCENARIO = r"""
namespace peer {
using namespace ns3;

// What EIFS is longer than DIFS by, less SIFS. No attribute says so.
Time& acknowledgement(WifiPhy& phy);
template <auto member> struct Opened {
    friend Time& acknowledgement(WifiPhy& phy) { return phy.*member; }
};
template struct Opened<&WifiPhy::m_ackTxTime>;

struct Radio {
    double tx_dbm, exponent, noise_figure_db, sensitivity_dbm, busy_dbm;
    double detect_dbm, detect_db, capture_db, metres_per_second;
    bool detection, capture, eifs, draw_when_interrupted, rts;
    std::string broadcast, unicast;
    unsigned attempts, queue;
};

struct Outcome {
    std::vector<long long> sent, delivered;  // delivered: by sender and receiver
};

constexpr unsigned HEADERS = 36;  // 24 of the MAC, 4 of its checksum, 8 of LLC and SNAP

Outcome run(const Radio& radio, const std::vector<double>& x, const std::vector<double>& y,
            const std::vector<long long>& at_us, const std::vector<int>& station,
            const std::vector<int>& size, const std::vector<int>& target, long long until_us, unsigned seed) {
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(seed);
    const unsigned n = x.size();
    NodeContainer nodes(n);
    Ptr<ListPositionAllocator> places = CreateObject<ListPositionAllocator>();
    for (unsigned i = 0; i < n; ++i) places->Add(Vector(x[i], y[i], 0));
    MobilityHelper mobility;
    mobility.SetPositionAllocator(places);
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(nodes);

    YansWifiChannelHelper channel;
    channel.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel",
                                "Speed", DoubleValue(radio.metres_per_second));
    channel.AddPropagationLoss("ns3::LogDistancePropagationLossModel",
                               "Exponent", DoubleValue(radio.exponent));
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    phy.SetErrorRateModel("ns3::TableBasedErrorRateModel");
    phy.Set("TxPowerStart", DoubleValue(radio.tx_dbm));
    phy.Set("TxPowerEnd", DoubleValue(radio.tx_dbm));
    phy.Set("RxNoiseFigure", DoubleValue(radio.noise_figure_db));
    phy.Set("RxSensitivity", DoubleValue(radio.sensitivity_dbm));
    phy.Set("CcaEdThreshold", DoubleValue(radio.busy_dbm));
    phy.Set("CcaSensitivity", DoubleValue(radio.busy_dbm));
    phy.DisablePreambleDetectionModel();
    if (radio.detection)
        phy.SetPreambleDetectionModel("ns3::ThresholdPreambleDetectionModel",
                                      "Threshold", DoubleValue(radio.detect_db),
                                      "MinimumRssi", DoubleValue(radio.detect_dbm));
    if (radio.capture)
        phy.SetFrameCaptureModel("ns3::SimpleFrameCaptureModel", "Margin", DoubleValue(radio.capture_db));
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211a);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode", StringValue(radio.unicast),
                                 "ControlMode", StringValue("OfdmRate6Mbps"),
                                 "NonUnicastMode", StringValue(radio.broadcast),
                                 "RtsCtsThreshold", UintegerValue(radio.rts ? 0 : 65535));
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac", "QosSupported", BooleanValue(false),
                "FrameRetryLimit", UintegerValue(radio.attempts));
    mac.SetChannelAccessManager("ProactiveBackoff", BooleanValue(radio.draw_when_interrupted));
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes);
    WifiHelper::AssignStreams(devices, 0);

    Outcome outcome;
    outcome.sent.assign(n, 0);
    outcome.delivered.assign(std::size_t(n) * n, 0);
    std::map<Mac48Address, unsigned> numbers;
    std::vector<Ptr<WifiNetDevice>> wifis;
    for (unsigned i = 0; i < n; ++i) {
        wifis.push_back(DynamicCast<WifiNetDevice>(devices.Get(i)));
        numbers[Mac48Address::ConvertFrom(wifis[i]->GetAddress())] = i;
    }
    for (unsigned i = 0; i < n; ++i) {
        Ptr<WifiPhy> phy = wifis[i]->GetPhy();
        Ptr<WifiMac> mac = wifis[i]->GetMac();
        if (!radio.eifs) acknowledgement(*phy) = Time(0) - phy->GetSifs();
        mac->GetTxopQueue(AC_BE_NQOS)->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, radio.queue));
        mac->GetTxopQueue(AC_BE_NQOS)->SetMaxDelay(Seconds(1e6));

        std::function<bool(Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address&)> received =
            [&, i](Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address& from) {
                ++outcome.delivered[std::size_t(numbers.at(Mac48Address::ConvertFrom(from))) * n + i];
                return true;
            };
        wifis[i]->SetReceiveCallback(NetDevice::ReceiveCallback(received));
        // A broadcast is sent once it begins, a frame for one station once it is acknowledged or given up.
        std::function<void(WifiConstPsduMap, WifiTxVector, double)> begun =
            [&outcome, i](WifiConstPsduMap psdus, WifiTxVector, double) {
                const WifiMacHeader& header = psdus.begin()->second->GetHeader(0);
                if (header.IsData() && header.GetAddr1().IsGroup()) ++outcome.sent[i];
            };
        phy->TraceConnectWithoutContext(
            "PhyTxPsduBegin", Callback<void, WifiConstPsduMap, WifiTxVector, double>(begun));
        std::function<void(Ptr<const WifiMpdu>)> acknowledged =
            [&outcome, i](Ptr<const WifiMpdu>) { ++outcome.sent[i]; };
        mac->TraceConnectWithoutContext("AckedMpdu", Callback<void, Ptr<const WifiMpdu>>(acknowledged));
        std::function<void(WifiMacDropReason, Ptr<const WifiMpdu>)> lost =
            [&outcome, i](WifiMacDropReason reason, Ptr<const WifiMpdu>) {
                if (reason == WIFI_MAC_DROP_REACHED_RETRY_LIMIT) ++outcome.sent[i];
            };
        mac->TraceConnectWithoutContext(
            "DroppedMpdu", Callback<void, WifiMacDropReason, Ptr<const WifiMpdu>>(lost));
    }
    for (std::size_t k = 0; k < at_us.size(); ++k) {
        Ptr<WifiNetDevice> from = wifis[station[k]];
        Address to = target[k] < 0 ? from->GetBroadcast() : wifis[target[k]]->GetAddress();
        auto send = [from, to, bytes = size[k] - HEADERS]() {
            from->Send(Create<Packet>(bytes), to, 0x0800);
        };
        Simulator::ScheduleWithContext(station[k], MicroSeconds(at_us[k]), send);
    }
    Simulator::Stop(MicroSeconds(until_us));
    Simulator::Run();
    Simulator::Destroy();
    return outcome;
}
}
"""

REFERENCE_DB = 46.6777  # what ns-3's loss is at 1 m, if it is not told otherwise
FIGURE_DB = 7.0  # ns-3's noise figure
NOISE_DBM = 10 * math.log10(1.3803e-23 * 290 * 20e6 / 1e-3) + FIGURE_DB
HALF_DB = -0.4  # at which its tables lose every other frame of 200 bytes at 6 Mbit/s
HAIR_DB = 1e-3  # so that rounding does not decide about who is exactly as far away as can be heard


def matched(model: RadioModel, **changes: float | bool) -> dict[str, Any]:
    """ns-3's settings that come nearest to a model's; the rest is as ns-3 has it.

    A sender at `interference` metres is as loud as noise, which makes the medium busy, and one farther away
    is nothing. A preamble is followed if it is as loud as that of a sender at `reach` metres and, which is
    ns-3's default, 4 dB above noise and others. From there on tables say which share of frames gets lost.
    """

    def level(metres: float) -> float:
        return NOISE_DBM + 10 * model.exponent * math.log10(model.interference / metres)

    edge = level(model.interference) - HAIR_DB
    return {
        "tx_dbm": level(1.0) + REFERENCE_DB,
        "exponent": model.exponent,
        "noise_figure_db": FIGURE_DB,
        "sensitivity_dbm": edge,
        "busy_dbm": edge,
        "detection": True,
        "detect_dbm": level(model.reach) - HAIR_DB,
        "detect_db": 4.0,
        "capture": False,
        "capture_db": 5.0,
        "metres_per_second": 299792458.0,
        "eifs": True,
        "draw_when_interrupted": False,
        "rts": model.rts,
        "broadcast": f"OfdmRate{model.broadcast_rate:g}Mbps",
        "unicast": f"OfdmRate{model.unicast_rate:g}Mbps",
        "attempts": model.retries + 1,
        "queue": model.queue,
        **changes,
    }


def by_error_rate(model: RadioModel) -> dict[str, float | bool]:
    """Changes that let tables alone say how far a frame is received: every preamble is followed, and there is
    so much noise that at `reach` metres every other frame gets lost."""
    above = 10 * model.exponent * math.log10(model.interference / model.reach)
    return {"detection": False, "noise_figure_db": FIGURE_DB + above - HALF_DB}


def is_there(python: str) -> bool:
    """Whether an interpreter has ns-3. Raises OSError if it cannot be run."""
    question = "import sys, importlib.util as u; sys.exit(u.find_spec('ns3') is None)"
    return subprocess.run([python, "-c", question], check=False).returncode == 0


def ask(python: str, cases: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Run cases in ns-3, one after the other, and yield their results. Raises RuntimeError with ns-3's text
    if it fails."""
    program = [python, "-c", "import ns3_peer; ns3_peer.main()"]
    with tempfile.TemporaryFile("w+") as asked, tempfile.TemporaryFile("w+") as said:
        json.dump(cases, asked)
        asked.seek(0)
        here = Path(__file__).parent
        with subprocess.Popen(
            program, cwd=here, stdin=asked, stdout=subprocess.PIPE, stderr=said, text=True
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                yield json.loads(line)
        if process.returncode:
            said.seek(0)
            raise RuntimeError(f"ns-3 failed: {said.read()}")


def main() -> None:
    """Read cases, and write what came of each on a line."""
    cppyy = import_module("ns").ns.cppyy
    cppyy.cppdef(SCENARIO)
    for case in json.load(sys.stdin):
        print(json.dumps(_run(cppyy.gbl.peer, cppyy.gbl.std.vector, case)), flush=True)


def _run(peer: Any, vector: Any, case: dict[str, Any]) -> dict[str, Any]:
    """For each station the frames it sent, and how many of them who received; seconds of processor time."""
    radio = peer.Radio()
    for name, value in case["radio"].items():
        setattr(radio, name, value)
    x, y = (vector["double"](column) for column in zip(*case["places"], strict=True))
    at_us, *others = zip(*case["frames"], strict=True)
    columns = (vector["long long"](at_us), *(vector["int"](column) for column in others))
    began = time.process_time()
    outcome = peer.run(radio, x, y, *columns, case["until_us"], case["seed"])
    seconds = time.process_time() - began
    return {"sent": list(outcome.sent), "delivered": list(outcome.delivered), "seconds": seconds}
